package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/holdfast-dev/holdfast/client"
)

// reportCmd counts the seats of an event, over the API.
type reportCmd struct {
	Event string `arg:"" help:"ID of the event."`
	CSV   bool   `name:"csv" help:"Print CSV."`

	apiFlags `embed:""`
}

func (c *reportCmd) isOffline() {}

func (c *reportCmd) run(ctx context.Context, s *session) (int, error) {
	isJSON := s.out.format == formatJSON
	if isJSON && c.CSV {
		return exitUsage, errors.New("give either --csv or --json, not both")
	}
	r := client.RawRequest{Method: http.MethodGet, Path: "/api/events/" + url.PathEscape(c.Event) + "/report"}
	if !isJSON {
		r.Query = url.Values{"format": {"csv"}}
	}
	text, err := c.client().Do(ctx, r)
	switch {
	case err != nil:
		return c.failed(err)
	case isJSON:
		return exitOK, s.out.printJSON(json.RawMessage(text), "  ")
	case c.CSV:
		_, err = s.out.w.Write(text)
		return exitOK, err
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		return exitFailed, errors.Join(errors.New("the answer is not a report"), err)
	}
	return exitOK, printRows(s.out, rows[1:], texts(rows[0]), texts)
}

func texts(row []string) (cells []any) {
	for _, text := range row {
		cells = append(cells, text)
	}
	return cells
}
