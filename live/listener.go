package live

// Listener receives the messages of one event.
type Listener struct {
	topic    *topic
	ready    chan struct{}
	lastID   int64     // the last ID that the client has received; 0 means none
	last     int64     // the last message that was received, as the content counts them; 0 means none yet
	resetDue bool      // a reset comes before the next message
	resuming bool      // the next messages follow the client's last ID
	sections *sections // the sections that a listener of seats asks for
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

// resetText makes the client drop its state; the whole state follows.
const resetText = "event: reset\ndata: {}\n\n"

// dueReset returns a reset if one is due.
func (l *Listener) dueReset() []byte {
	if !l.resetDue {
		return nil
	}
	l.resetDue = false
	return []byte(resetText)
}

// maxBacklog is the number of messages that a slow listener may be behind and
// still get each of them.
const maxBacklog = 16

// maxResumed is the number of batches of seats that a client which reconnects may have missed. After a proxy has
// restarted, thousands of clients reconnect at once, and a long text for each one would be larger than the map, which
// they share.
const maxResumed = 64

// Receive returns the messages that the listener has not received yet, in the
// format of server-sent events. The caller must not change them. ended means that no message follows.
func (l *Listener) Receive() (text []byte, ended bool) {
	t := l.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	text = t.content.next(l)
	l.resuming = false
	return text, t.ended
}
