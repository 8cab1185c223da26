// Package live streams events to many listeners: their availability, and the seats of seated events.
//
// One MongoDB change stream feeds all listeners of a process. It starts with the
// first listener. An event that has listeners is a topic, or two: one of its availability, one of its
// seats. A message reserves nothing: seats may be taken before a listener has read it.
//
// The IDs of messages rise. A listener that reconnects with its last ID gets what it has missed, or a
// reset if that is not in the replay buffer any more.
//
// # Availability
//
// Changes of an event within PublishInterval are merged into one message, so that a listener of a busy
// sale gets a few messages a second. Every message has the whole state: a slow listener gets the latest
// message and skips the outdated ones. IDs are the same in every process.
//
// If the change stream ends, the hub reconnects after reconnectDelay and reads
// every state again; listeners get a reset.
//
// # Seats
//
// A change only says that there is something to read. The map of an event is read at once, but not more
// than once per SeatsInterval, and compared with the one that was read before. The difference is a batch of
// messages: the sections whose availability has changed, and for each section the seats taken and freed. Each
// message is encoded once for all listeners. Only its ID depends on the sections that a listener asks for.
//
// A listener gets the whole map first, and then every batch since. A listener that can't get each of them
// is reset, and gets the whole map again: it is more than maxBacklog batches behind, or maxResumed after it came
// back; its last ID is too old, of other sections, of another process that has read other maps, or was not of the last
// message of a batch; or the event has got another plan. Its IDs continue to rise. A gap in the change stream needs no reset. A map
// that can't be read is not sent: the listeners wait until it has been repaired.
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package live
