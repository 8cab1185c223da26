package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/live"
)

const (
	// heartbeat is how often a quiet stream says that it lives, below the minute
	// after which proxies give up.
	heartbeat = 15 * time.Second
	// slowest is how long a listener may take to read a message; then it has to
	// come back.
	slowest = 10 * time.Second
	// streamHello asks listeners to come back after two seconds, and tells who reads
	// the stream by eye what it is.
	streamHello   = "retry: 2000\n: availability, as it changes\n\n"
	heartbeatText = ": heartbeat\n\n"
)

type streamQuery struct {
	PathID
	LastID string `header:"Last-Event-ID" maxLength:"20" doc:"The ID of the last message: what came since is sent, or a reset."`
}

// isStream reports whether a request asks for a stream.
func isStream(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/events/") && strings.HasSuffix(r.URL.Path, "/stream")
}

func (a *api) streamRoutes() {
	state := huma.SchemaFromType(a.huma.OpenAPI().Components.Schemas, reflect.TypeFor[live.State]())
	op := huma.Operation{
		OperationID: "stream-event", Method: http.MethodGet, Path: "/api/events/{id}/stream", Tags: []string{"Events"}, Summary: "Availability as it changes",
		Description: "Server-sent events: `availability` with the whole state within 250 ms of a change, under rising IDs; " +
			"`reset` where what came since Last-Event-ID is not known any more, followed by the state; a comment each 15 s.",
		Errors: []int{http.StatusNotFound},
		Responses: map[string]*huma.Response{"200": {Description: "A stream of messages, whose data is:",
			Content: map[string]*huma.MediaType{"text/event-stream": {Schema: state}}}},
	}
	route(a, op, scopeCustomer, func(ctx context.Context, in *streamQuery) (*huma.StreamResponse, error) {
		last, err := strconv.ParseInt(in.LastID, 10, 64)
		if err != nil {
			last = 0 // of another server, or made up: it is as good as none
		}
		if in.LastID != "" && last <= 0 {
			last = 1 // too old
		}
		l, err := a.Live.Listen(ctx, parseID(in.ID), last)
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			defer l.Close()
			r, w := humago.Unwrap(ctx)
			stream(r, w, l, last != 0)
		}}, nil
	})
}

// stream sends a listener what there is, until it leaves or is too slow.
func stream(r *http.Request, w http.ResponseWriter, l *live.Listener, resuming bool) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep it
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Time{}) //nolint:errcheck // the request has been read; it lasts as long as it lasts
	send := func(text []byte) bool {
		if control.SetWriteDeadline(clock.Deadline(slowest)) != nil {
			return false
		}
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	if !send([]byte(streamHello)) {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-beat.C:
			if !send([]byte(heartbeatText)) {
				return
			}
		case <-l.Woken():
			text, ended := l.Take(resuming)
			resuming = false
			if len(text) > 0 && !send(text) || ended {
				return
			}
		}
	}
}
