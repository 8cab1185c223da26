package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// maxPlanBytes is the limit of a seating plan's body.
	maxPlanBytes int64 = 20_000_000
	// defaultLargeBodies bounds memory: a body of 20 MB and the plan that is made of it need some 200 MB.
	defaultLargeBodies = 3
	// largeBodyWaitTimeout is how long a request waits until there is memory for its body. It is
	// shorter than the server's ReadTimeout.
	largeBodyWaitTimeout = 5 * time.Second
	// largeBodyStep has to arrive within largeBodyStepTimeout: an upload of 280 kbit/s is read to
	// its end, and a stalled one soon frees its place.
	largeBodyStep        = 1 << 20
	largeBodyStepTimeout = 30 * time.Second
)

// readBody reads the body of a request. A body of a few hundred bytes, as all routes but
// one take, is read into a buffer that other requests use again. A larger body, or one of unknown length,
// needs a place among largeBodies until its request has been answered.
func (a *api) readBody(into *admitted, r *http.Request, limit int64) error {
	if r.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	if limit <= maxBodyBytes || 0 <= r.ContentLength && r.ContentLength <= maxBodyBytes {
		return a.bodies.read(into, r, limit)
	}
	ctx, cancel := context.WithTimeout(r.Context(), largeBodyWaitTimeout)
	defer cancel()
	if err := a.largeBodies.acquire(ctx, "The upload of large bodies"); err != nil {
		return err
	}
	into.place = a.largeBodies
	return readLarge(into, r, limit)
}

// readLarge reads a body step by step, and then gives the response its time: the server's timeouts
// run from the beginning of the request.
func readLarge(into *admitted, r *http.Request, limit int64) error {
	if n := r.ContentLength; n > 0 {
		into.body.Grow(int(n) + 1) // ReadFrom needs space for the end of the body too
	}
	control := http.NewResponseController(into.arrival.response)
	limited := io.LimitReader(r.Body, limit+1)
	for isEnd := false; !isEnd; {
		if err := control.SetReadDeadline(mongodb.Deadline(largeBodyStepTimeout)); err != nil {
			return incompleteBody(err)
		}
		_, err := io.CopyN(&into.body, limited, largeBodyStep)
		if isEnd = errors.Is(err, io.EOF); err != nil && !isEnd {
			return incompleteBody(err)
		}
	}
	if int64(into.body.Len()) > limit {
		return bodyTooLarge(limit)
	}
	if control.SetReadDeadline(time.Time{}) != nil || control.SetWriteDeadline(mongodb.Deadline(writeTimeout)) != nil {
		return holdfast.Refuse(holdfast.CodeUnavailable, "The connection was closed.")
	}
	return nil
}
