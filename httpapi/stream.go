package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/live"
)

const (
	// heartbeatInterval is shorter than the minute after which many proxies close
	// a quiet connection.
	heartbeatInterval = 15 * time.Second
	// streamWriteTimeout ends the stream of a client that does not read. The client
	// must reconnect.
	streamWriteTimeout = 10 * time.Second
	// streamPreamble makes a client reconnect after two seconds. Its comment explains
	// the stream to a reader.
	streamPreamble = "retry: 2000\n: live updates\n\n"
	heartbeat      = ": heartbeat\n\n"
)

// LastEventID is the header of a client that reconnects.
type LastEventID struct {
	LastID string `header:"Last-Event-ID" doc:"ID of the last message received. The stream resumes after it, or sends a reset."`
}

// lastID returns 0 if the client has no last ID, and 1, which is too old for
// every stream, if its ID is not valid.
func (q LastEventID) lastID() int64 {
	if q.LastID == "" {
		return 0
	}
	id, err := strconv.ParseInt(q.LastID, 10, 64)
	if err != nil || id <= 0 {
		return 1
	}
	return id
}

type streamQuery struct {
	PathID
	LastEventID
}

type seatStreamQuery struct {
	PathID
	LastEventID
	Sections streamedSections `query:"section,explode" doc:"Keys of the sections whose seats are sent too."`
}

// Resolve is called by huma after it has read the request.
func (seatStreamQuery) Resolve(ctx huma.Context) []error { return refuseEmptySection(ctx) }

// streamedSections are the sections of one stream.
type streamedSections []string

// Schema implements huma.SchemaProvider.
func (streamedSections) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}, MaxItems: new(live.MaxSections)}
}

func (a *api) registerStreamRoutes() {
	op := huma.Operation{
		OperationID: "stream-event", Method: http.MethodGet, Path: "/api/events/{id}/stream", Tags: []string{"Events"},
		Summary: "Stream the availability of an event",
		Description: "Server-sent events. `availability` has the whole state and follows a change within 250 ms; IDs rise. " +
			"If the messages since Last-Event-ID are not available any more, the stream sends `reset` and then the state. " +
			"Every 15 s it sends a comment. It ends when the customer's token expires.",
		Errors:    []int{http.StatusNotFound},
		Responses: availabilityStream(a.huma.OpenAPI().Components.Schemas),
		Metadata:  map[string]any{metadataIsLong: true}, // a stream is cheap; the hub limits the number of streams
	}
	route(a, op, scopeCustomer, func(ctx context.Context, in *streamQuery) (*huma.StreamResponse, error) {
		return a.streamOf(ctx, func() (*live.Listener, error) { return a.Live.Listen(ctx, parseID(in.ID), in.lastID()) })
	})
	a.registerSeatStreamRoute()
}

func (a *api) registerSeatStreamRoute() {
	op := huma.Operation{
		OperationID: "stream-seats", Method: http.MethodGet, Path: "/api/events/{id}/seats/stream", Tags: []string{"Seats"},
		Summary: "Stream the seats of an event",
		Description: "Server-sent events of an event with a seating plan. `sections` has the free seats of all sections first, " +
			"and then of those that changed. `seats` has, for each section asked for, a bitmap first, and then the seats that were " +
			"taken and freed since the message before. A message follows a change within 250 ms; IDs rise. If the messages since " +
			"Last-Event-ID are not available any more, the client is too slow, or the event gets another plan, the stream sends `reset` and then " +
			"everything again. Every 15 s it sends a comment. It ends when the customer's token expires.",
		Errors:    []int{http.StatusNotFound},
		Responses: seatStream(a.huma.OpenAPI().Components.Schemas),
		Metadata:  map[string]any{metadataIsLong: true, metadataRepeats: "section"},
	}
	route(a, op, scopeCustomer, func(ctx context.Context, in *seatStreamQuery) (*huma.StreamResponse, error) {
		return a.streamOf(ctx, func() (*live.Listener, error) {
			return a.Live.ListenToSeats(ctx, parseID(in.ID), in.Sections, in.lastID())
		})
	})
}

// streamOf is the response that sends the messages of a listener, and closes the listener. It counts among the streams of its customer.
func (a *api) streamOf(ctx context.Context, listen func() (*live.Listener, error)) (*huma.StreamResponse, error) {
	free, err := a.streams.take(requestInfoOf(ctx), "streams")
	if err != nil {
		return nil, err
	}
	l, err := listen()
	if err != nil {
		free()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer free()
		defer l.Close()
		r, w := humago.Unwrap(ctx)
		a.stream(r, w, l)
	}}, nil
}

// stream sends messages until the client disconnects, does not read in time, its token expires, or the
// listener ends.
func (a *api) stream(r *http.Request, w http.ResponseWriter, l *live.Listener) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx buffers otherwise
	if r.Method == http.MethodHead {
		return
	}
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Time{}) != nil { // the server's ReadTimeout would end the stream
		return
	}
	send := func(text []byte) bool {
		if control.SetWriteDeadline(mongodb.Deadline(streamWriteTimeout)) != nil {
			return false
		}
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	if !send([]byte(streamPreamble)) {
		return
	}
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	var expired <-chan time.Time // never, with a key
	if expires := requestInfoOf(r.Context()).Expires; !expires.IsZero() {
		timer := time.NewTimer(expires.Sub(a.Clock()))
		defer timer.Stop()
		expired = timer.C
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-expired: // the client reconnects with a new token
			return
		case <-ticker.C:
			if !send([]byte(heartbeat)) {
				return
			}
		case <-l.Ready():
			text, ended := l.Receive()
			if len(text) > 0 && !send(text) || ended {
				return
			}
		}
	}
}
