package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// smallAnswer is the number of bytes up to which an answer is sent as a whole, and is not counted.
	smallAnswer = 128 << 10
	// defaultLargeAnswers bounds the answers above it that are being sent, and so their memory: each holds the text of one
	// section, or of a few small ones that are read together.
	defaultLargeAnswers = 128
	// answerPiece is the length of a write.
	answerPiece = 64 << 10
	// defaultAnswerTimeout is the time of a large answer, and again for each answerStep of it: a client that reads 64 KiB a
	// second gets it whole.
	defaultAnswerTimeout = 10 * time.Second
	answerStep           = 640 << 10
	// mostRate, in bytes a second, bounds the work for a customer that reads fast: so long each of its places stays taken.
	mostRate = 4 << 20
)

// sectioned is an answer with a list of sections, which is sent section by section, so that its memory does not grow with the hall.
type sectioned struct {
	etag, cacheControl string
	form               any // the answer with an empty list "sections"
	sections           func(context.Context) iter.Seq2[json.RawMessage, error]
}

// response sends the answer, or 304 if the client has it.
func (s *sectioned) response(a *api, known *NoneMatch) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		header := w.Header()
		header.Set("ETag", s.etag)
		header.Set("Cache-Control", s.cacheControl)
		if known.matches(s.etag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		header.Set("Content-Type", "application/json")
		if r.Method == http.MethodHead {
			return
		}
		if err := s.send(&sending{a: a, ctx: r.Context(), w: w}); err != nil {
			header.Del("ETag")
			header.Del("Cache-Control")
			p := problemOf(err)
			logServerError(r.Context(), a.Log, p)
			writeProblem(w, p)
		}
	}}
}

// send returns an error only before the first byte is written. After that it ends the connection, so that
// no cache keeps half an answer.
func (s *sectioned) send(to *sending) error {
	defer to.end()
	form, err := json.Marshal(s.form)
	if err != nil {
		return err
	}
	const noSections = `"sections":[]` // once, because a quote in a text is escaped
	begin := bytes.Index(form, []byte(noSections)) + len(noSections) - 1
	to.pending = slices.Clone(form[:begin])
	comma := ""
	for text, err := range s.sections(to.ctx) {
		if err == nil {
			to.pending = append(to.pending, comma...)
			err = to.add(text)
		}
		if err != nil && to.sent == 0 {
			return err
		}
		if err != nil {
			logServerError(to.ctx, to.a.Log, problemOf(err))
			panic(http.ErrAbortHandler)
		}
		comma = ","
	}
	to.write(append(append(to.pending, form[begin:]...), '\n'))
	return nil
}

// sending is an answer that is being sent. A large one has a place among those of its customer, and among all.
type sending struct {
	a       *api
	ctx     context.Context //nolint:containedctx // of the request
	w       http.ResponseWriter
	pending []byte // to be sent before what follows
	begun   time.Time
	sent    int
	free    func() // nil while the answer is small
}

// add sends a text, or collects it while the answer is small. It fails only while nothing has been sent.
func (s *sending) add(text []byte) error {
	if s.free == nil && len(s.pending)+len(text) <= smallAnswer {
		s.pending = append(s.pending, text...)
		return nil
	}
	if s.free == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	s.write(s.pending)
	s.pending = s.pending[:0]
	s.write(text)
	return nil
}

// begin waits for a place.
func (s *sending) begin() error {
	free, err := s.a.answers.take(requestInfoOf(s.ctx), "large answers")
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(s.ctx, requestTimeout)
	defer cancel()
	if err := s.a.largeAnswers.acquire(waiting, "Sending large answers"); err != nil {
		free()
		return err
	}
	s.free, s.begun = free, s.a.Clock()
	return nil
}

// write sends a text piece by piece, and ends the connection if the client is gone or too slow.
func (s *sending) write(text []byte) {
	for piece := range slices.Chunk(text, answerPiece) {
		var err error
		if s.sent += len(piece); s.free != nil {
			left := s.a.answerTimeout + s.a.answerTimeout*time.Duration(s.sent)/answerStep - s.a.Clock.Since(s.begun)
			err = http.NewResponseController(s.w).SetWriteDeadline(mongodb.Deadline(left))
		}
		if err == nil {
			_, err = s.w.Write(piece)
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// end frees the place: at once for others, and for its customer not before the rate allows.
func (s *sending) end() {
	if s.free != nil {
		s.a.largeAnswers.release()
		time.AfterFunc(time.Duration(s.sent)*time.Second/time.Duration(s.a.answerRate)-s.a.Clock.Since(s.begun), s.free)
	}
}

// cachedResponse describes a response that huma does not write.
func cachedResponse[T any](schemas huma.Registry, description, cacheControl string) map[string]*huma.Response {
	text := func(description string) *huma.Param {
		return &huma.Param{Description: description, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return map[string]*huma.Response{
		strconv.Itoa(http.StatusOK): {
			Description: description,
			Headers:     map[string]*huma.Param{"ETag": text("For If-None-Match."), "Cache-Control": text(cacheControl)},
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(reflect.TypeFor[T](), true, "")}},
		},
	}
}
