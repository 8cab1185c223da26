package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

const (
	// startTime covers a first fetch of MongoDB over a slow line.
	startTime = 10 * time.Minute
	// jobTime is the default interval of the sweeps, and room for one run.
	jobTime = 75 * time.Second
	poll    = 100 * time.Millisecond
)

// stage is the running Holdfast that the demo plays on.
type stage struct {
	state devserver.State
	mongo *mongo.Client
	own   *devserver.Process // nil where it ran already
}

func findOrStart(ctx context.Context) (*stage, error) {
	s := &stage{}
	if s.reach(ctx) {
		fmt.Println("Found a running Holdfast at", s.state.API)
	} else if err := s.start(ctx); err != nil {
		return nil, err
	}
	client, err := mongo.Connect(options.Client().ApplyURI(s.state.MongoDBURI))
	s.mongo = client
	return s, err
}

// reach reads the state of a running one, and whether it answers.
func (s *stage) reach(ctx context.Context) bool {
	state, err := devserver.ReadState()
	if err != nil {
		return false
	}
	s.state = state
	status, _, err := call(ctx, http.MethodGet, s.state.API+"/readyz", nil)
	return err == nil && status == http.StatusOK
}

func (s *stage) start(ctx context.Context) (err error) {
	fmt.Println("No Holdfast is running here: starting one, whose sweeps run every second.")
	address, err := freeAddress()
	if err != nil {
		return err
	}
	log := filepath.Join(".build", "demo.log")
	output, err := os.Create(log) //nolint:gosec // a fixed name
	if err != nil {
		return err
	}
	s.own, err = devserver.Start(devserver.Command{
		Args:   []string{".build/devserver", "run", "--http-addr=" + address, "--lock-expiry-interval=1s", "--booking-expiry-interval=1s"},
		Output: output,
	})
	if err != nil {
		return err
	}
	fmt.Println("  its output goes to", log)
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for !s.reach(ctx) || s.state.API != "http://"+address {
		select {
		case <-s.own.Done():
			return fmt.Errorf("it ended; see %s", log)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
	return nil
}

func (s *stage) close() {
	s.mongo.Disconnect(context.Background()) //nolint:errcheck // at the end of the program
	if s.own != nil {
		s.own.Stop()
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

type fields map[string]any

func call(ctx context.Context, method, url string, body any) (status int, answer fields, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err
	}
	return response.StatusCode, answer, json.Unmarshal(raw, &answer)
}

// create posts and returns the new document's ID.
func create(ctx context.Context, url string, body fields) (string, error) {
	status, answer, err := call(ctx, http.MethodPost, url, body)
	if err != nil {
		return "", err
	}
	if status != http.StatusCreated {
		return "", fmt.Errorf("POST %s: %d %v", url, status, answer)
	}
	id, _ := answer["id"].(string)
	fmt.Printf("  POST %-22s %d  id %s\n", path(url), status, id)
	return id, nil
}

// expect compares one field of a document, at once or, where it depends on a
// job, as soon as the job has run.
func expect(ctx context.Context, url, field string, want any, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait+poll*10)
	defer cancel()
	start, last := now(), any(nil)
	for {
		_, answer, err := call(ctx, http.MethodGet, url, nil)
		if err == nil {
			last = answer[field]
		}
		if fmt.Sprint(last) == fmt.Sprint(want) {
			break
		}
		if wait == 0 {
			return compare(path(url)+" "+field, want, last)
		}
		select {
		case <-ctx.Done():
			return compare(path(url)+" "+field, want, last)
		case <-time.After(poll):
		}
	}
	what := path(url) + " " + field
	if wait > 0 {
		what += fmt.Sprintf(" (after %v)", now().Sub(start).Round(poll))
	}
	return compare(what, want, last)
}

var errDiffers = errors.New("what was seen is not what was expected")

func compare(what string, want, seen any) error {
	verdict, err := "ok", error(nil)
	if fmt.Sprint(want) != fmt.Sprint(seen) {
		verdict, err = "DIFFERS", errDiffers
	}
	fmt.Printf("  %-72s expected %-10v seen %-10v %s\n", what, want, seen, verdict)
	return err
}

func path(url string) string {
	for i, slashes := 0, 0; i < len(url); i++ {
		if url[i] == '/' {
			if slashes++; slashes == 3 {
				return url[i:]
			}
		}
	}
	return url
}
