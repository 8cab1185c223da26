// Package live streams the availability of events to many listeners.
//
// One MongoDB change stream feeds all listeners of a process. It starts with the
// first listener. Changes of an event within PublishInterval are merged into one
// message, so that a listener of a busy sale gets a few messages a second. Every
// message has the whole state: a slow listener gets the latest message and skips
// the outdated ones.
//
// The IDs of messages rise and are the same in every process. A listener that
// reconnects with its last ID gets the messages since then, or a reset if they are
// not in the replay buffer any more.
//
// If the change stream ends, the hub reconnects after reconnectDelay and reads
// every state again; listeners get a reset.
//
// A message reserves nothing: seats may be taken before a listener has read it.
package live
