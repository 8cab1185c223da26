package store

// SumAtMost makes a command of the store add up at most n locks.
func (s *Store) SumAtMost(n int) { s.maxSummed = n }
