package live

// Listener hears of one event.
type Listener struct {
	topic *topic
	wake  chan struct{}
	seq   int64 // of the last message that was taken
	reset bool  // to be told first
}

func (l *Listener) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Close ends the listening.
func (l *Listener) Close() { l.topic.hub.leave(l.topic, l) }

// Woken tells that there may be something to take.
func (l *Listener) Woken() <-chan struct{} { return l.wake }

// resetText says that what is known is to be forgotten; the whole state follows.
var resetText = []byte("event: reset\ndata: {}\n\n")

// few is how far a listener may be behind to get every message.
const few = 16

// Take returns what is to be sent, in the form of server-sent events; ended says
// that nothing follows. Who is far behind gets the newest state only, but for one
// who has just come back with an ID.
func (l *Listener) Take(resuming bool) (text []byte, ended bool) {
	t := l.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.reset {
		text, l.reset = append(text, resetText...), false
	}
	pending := t.sent
	for len(pending) > 0 && pending[0].seq <= l.seq {
		pending = pending[1:]
	}
	if n := len(pending); n > 0 && (l.seq == 0 || (n > few && !resuming)) {
		pending = pending[n-1:]
	}
	for _, m := range pending {
		text, l.seq = append(text, m.text...), m.seq
	}
	return text, t.ended
}
