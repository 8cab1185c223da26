package live

// Listener receives the messages of one event.
type Listener struct {
	topic    *topic
	ready    chan struct{}
	lastSeq  int64 // of the last message received
	resetDue bool  // a reset comes before the next message
	resuming bool  // the next messages follow the client's last ID
}

func (l *Listener) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// Close removes the listener from its hub.
func (l *Listener) Close() { l.topic.hub.leave(l.topic, l) }

// Ready signals that Receive may have something to return.
func (l *Listener) Ready() <-chan struct{} { return l.ready }

// resetText tells the client to drop its state; the whole state follows.
var resetText = []byte("event: reset\ndata: {}\n\n")

// maxBacklog is the number of messages that a slow listener may be behind and
// still get each of them.
const maxBacklog = 16

// Receive returns the messages that the listener has not received yet, in the
// format of server-sent events. ended means that no message follows. A listener
// that is more than maxBacklog messages behind gets the latest one only, except
// for its first messages after a reconnect.
func (l *Listener) Receive() (text []byte, ended bool) {
	t := l.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.resetDue {
		text, l.resetDue = append(text, resetText...), false
	}
	pending := t.replay
	for len(pending) > 0 && pending[0].seq <= l.lastSeq {
		pending = pending[1:]
	}
	if n := len(pending); n > 0 && (l.lastSeq == 0 || (n > maxBacklog && !l.resuming)) {
		pending = pending[n-1:]
	}
	l.resuming = false
	for _, m := range pending {
		text, l.lastSeq = append(text, m.text...), m.seq
	}
	return text, t.ended
}
