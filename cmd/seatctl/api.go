package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/config"
)

const (
	defaultURL = "http://127.0.0.1:8080"
	// apiTimeout limits a request with its retries: an operator waits for it.
	apiTimeout = 5 * time.Second
)

// apiFlags say which API a command calls, and as whom.
type apiFlags struct {
	URL string        `name:"url" env:"HOLDFAST_URL" help:"Address of the API. Default: http://127.0.0.1:8080."`
	Key config.Secret `env:"HOLDFAST_KEY" help:"Secret of an API key. Webhooks and most changes need one with the scope admin."`
}

// client returns a client of that API. The options come after the usual ones.
func (f *apiFlags) client(options ...client.Option) *client.Client {
	options = append([]client.Option{client.WithKey(string(f.Key)), client.WithRetryTimeout(apiTimeout)}, options...)
	return client.New(cmp.Or(f.URL, defaultURL), options...)
}

// failed returns the exit code of an error of the API, and what an operator can do about it.
func (f *apiFlags) failed(err error) (int, error) {
	switch {
	case client.Is(err, client.ValidationFailed):
		return exitUsage, err
	case client.Is(err, client.Unauthenticated, client.Forbidden):
		return exitFailed, fmt.Errorf("%w; set HOLDFAST_KEY, or --key, to the secret of a key", err)
	case errors.Is(err, client.ErrInvalidKey):
		return exitUsage, fmt.Errorf("%w; set HOLDFAST_KEY, or --key, to the secret of a key", err)
	case errors.As(err, new(*client.Error)):
		return exitFailed, err
	default:
		return exitFailed, fmt.Errorf("%w; set HOLDFAST_URL, or --url, to the address of the API", err)
	}
}

// apiCmd calls any route of the API.
type apiCmd struct {
	Method string   `arg:"" help:"GET, POST, PUT, PATCH or DELETE."`
	Path   string   `arg:"" help:"Path of a route, such as /api/events; it may have a query."`
	Fields []string `arg:"" optional:"" sep:"none" placeholder:"name=value" help:"name=text; in a body also name:=JSON: totalSeats:=100."`

	Input          string   `placeholder:"FILE" help:"Send this file as the body; - is the standard input."`
	Header         []string `sep:"none" placeholder:"NAME:VALUE" help:"Send a header; may be repeated."`
	IdempotencyKey string   `placeholder:"KEY" help:"The same request with the same key is executed once."`

	apiFlags `embed:""`

	request client.RawRequest
}

// Help is printed by --help.
func (c *apiCmd) Help() string {
	return "The fields are the JSON body of POST, PUT and PATCH, and the query of other methods. /docs on the API lists the routes. " +
		"The answer is printed as JSON. An error is printed on the standard error, and the exit code is 1, or 2 for a request with " +
		"invalid values."
}

// Validate is called by the parser.
func (c *apiCmd) Validate() error {
	c.Method = strings.ToUpper(c.Method)
	target, err := url.Parse(c.Path)
	switch {
	case !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, c.Method):
		return errors.New("the method must be GET, POST, PUT, PATCH or DELETE")
	case err != nil || !strings.HasPrefix(c.Path, "/") || strings.HasPrefix(c.Path, "//") || strings.Contains(c.Path, "#"):
		return errors.New("the path must begin with a slash and have no #, such as /api/events; --url has the address of the API")
	case c.Input != "" && len(c.Fields) > 0:
		return errors.New("--input is the whole body: write its fields there, and a query into the path")
	}
	query, err := url.ParseQuery(target.RawQuery)
	if err != nil {
		return errors.New("the query of the path is not valid: separate its parameters with &, and escape % and ; in them")
	}
	c.request = client.RawRequest{Method: c.Method, Path: target.EscapedPath(), Query: query, Header: http.Header{}}
	for _, h := range c.Header {
		name, value, isHeader := strings.Cut(h, ":")
		if !isHeader {
			return errors.New("--header must be NAME:VALUE")
		}
		c.request.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if c.IdempotencyKey != "" {
		c.request.Header.Set("Idempotency-Key", c.IdempotencyKey)
	}
	return c.setFields()
}

// setFields writes the fields into the body, or into the query of a method that has no body.
func (c *apiCmd) setFields() error {
	body := map[string]any{}
	hasBody := c.Method != http.MethodGet && c.Method != http.MethodDelete
	for _, f := range c.Fields {
		name, value, isField := strings.Cut(f, "=")
		name, isJSON := strings.CutSuffix(name, ":")
		switch {
		case !isField || name == "":
			return fmt.Errorf("%q is not a field: write name=text, or name:=JSON", f)
		case isJSON && !hasBody:
			return fmt.Errorf("%s is a parameter of the query, which has no JSON: write %s=text", name, name)
		case !hasBody:
			c.request.Query.Add(name, value)
		case isJSON && !json.Valid([]byte(value)):
			return fmt.Errorf("the value of %s is not valid JSON: quote it for the shell, or write %s=text for a text", name, name)
		case isJSON:
			body[name] = json.RawMessage(value)
		default:
			body[name] = value
		}
	}
	if len(body) == 0 {
		return nil
	}
	var err error
	c.request.Body, err = json.Marshal(body)
	return err
}

func (c *apiCmd) isOffline() {}

func (c *apiCmd) run(ctx context.Context, s *session) (_ int, err error) {
	switch c.Input {
	case "":
	case standardStream:
		c.request.Body, err = io.ReadAll(s.in)
	default:
		c.request.Body, err = os.ReadFile(c.Input)
	}
	if err != nil {
		return exitFailed, err
	}
	text, err := c.client().Do(ctx, c.request)
	switch {
	case err != nil:
		return c.failed(err)
	case json.Valid(text):
		return exitOK, s.out.printJSON(json.RawMessage(text), "  ")
	default: // nothing, or a page
		_, err = io.WriteString(s.out.w, visibleLines(string(text)))
		return exitOK, err
	}
}
