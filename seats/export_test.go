package seats

// InFlight is how many requests wait at queues or are being committed, by event.
func (s *Service) InFlight() int {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	return len(s.queues.byEvent)
}
