package live

import "github.com/holdfast-dev/holdfast"

// Topics returns the number of topics.
func (h *Hub) Topics() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.topics)
}

// KeptTexts returns how many bytes of texts and messages are kept for the listeners of an event's seats.
func (h *Hub) KeptTexts(id holdfast.ID) (bytes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.topics[topicKey{event: id, seats: true}].content.(*seatChanges)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range []texts{s.texts, s.wholeTexts} {
		for _, text := range kept {
			bytes += cap(text)
		}
	}
	bytes += len(s.state.overview)
	for _, message := range s.state.bitmaps {
		bytes += len(message)
	}
	for _, b := range s.batches {
		bytes += len(b.overview)
		for _, c := range b.changes {
			bytes += len(c.message)
		}
	}
	return bytes
}
