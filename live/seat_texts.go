package live

import (
	"encoding/base64"

	"github.com/holdfast-dev/holdfast/internal/store"
)

// state is a map of seats, with the messages for new listeners. Each message is encoded once, when
// it is needed.
type state struct {
	store.SeatMap

	overview string         // the message `sections` with all of them
	bitmaps  map[int]string // the messages `seats`, by section
}

// messages are the whole state, for listeners of these sections.
func (s *state) messages(of *sections) []string {
	hall := s.Seats.Hall()
	if s.overview == "" {
		all := make([]SectionAvailability, len(hall.Sections()))
		for n, section := range hall.Sections() {
			all[n] = SectionAvailability{Key: section.Key, Available: s.Seats.AvailableIn(n)}
		}
		s.overview, s.bitmaps = messageOf("sections", all), map[int]string{}
	}
	messages := []string{s.overview}
	for _, n := range of.in(hall) {
		section := &hall.Sections()[n]
		if section.GeneralAdmission() {
			continue
		}
		if s.bitmaps[n] == "" {
			bitmap := base64.StdEncoding.EncodeToString(s.Seats.Bytes(nil, n))
			s.bitmaps[n] = messageOf("seats", SectionBitmap{Section: section.Key, Rev: s.Revision, Bitmap: bitmap})
		}
		messages = append(messages, s.bitmaps[n])
	}
	return messages
}

// maxSharedTexts bounds the sets of sections whose text is kept. A client may ask for any set, and there are
// more of them than there is memory.
const maxSharedTexts = 16

// texts are what listeners of the same sections receive, by the name of the set: they share one text. The
// text of the overview is always shared. Beyond maxSharedTexts, a text is put together for each listener.
type texts map[string][]byte

// of returns the text for these sections.
func (t texts) of(s *sections, newText func() []byte) []byte {
	text, found := t[s.name]
	if !found {
		text = newText()
		if len(s.keys) == 0 || len(t) < maxSharedTexts {
			t[s.name] = text
		}
	}
	return text
}
