package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/client"
)

// salesCmd has the commands on sales.
type salesCmd struct {
	Import importSalesCmd `cmd:"" help:"Sell the seats that the rows of a CSV file name, over the API. A run that was interrupted goes on."`
}

// importSalesCmd sells the seats of a file's rows.
type importSalesCmd struct {
	Event string `arg:"" help:"ID of the event."`
	File  string `arg:"" help:"A CSV file whose first line names its columns."`

	apiFlags `embed:""`
}

const (
	// salesAtOnce is the number of requests in flight: the API puts those of one event into few transactions.
	salesAtOnce = 64
	// saleRetryTimeout limits a row with its retries: longer than a restart of the API or an election of MongoDB.
	saleRetryTimeout     = 5 * time.Minute
	saleProgressInterval = time.Second
	// explainedRows bounds the refused rows whose mistake is explained: one in each row of a file would be the same.
	explainedRows = 20
)

// Help is printed by --help.
func (c *importSalesCmd) Help() string {
	return "Columns: seat (an ID, or several with blanks between them), or section and seats, or seats alone; holder or email (of a " +
		"user); and, if wanted, accessibleSeats, reference, paymentReference, paymentPart, provider, amount and currency. " +
		"Each row is sold once, by a key that is made of the file's name, the row and its number among equal rows. So the same command goes " +
		"on after an interruption, tries refused rows again, and sells only what is new in a corrected file. " +
		"A file with another name is another import. " +
		"At the end each refused row is printed as line N: CODE. The exit code is 0 if no row was refused, 1 if some were or the import " +
		"did not end, and 2 if its content or its columns can't be used; then nothing is sold."
}

func (c *importSalesCmd) isOffline() {}

func (c *importSalesCmd) run(ctx context.Context, s *session) (int, error) {
	file, code, err := c.read()
	if err != nil {
		return code, err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: salesAtOnce}
	defer transport.CloseIdleConnections()
	api := c.client(client.WithRetryTimeout(saleRetryTimeout),
		client.WithHTTPClient(&http.Client{Timeout: client.DefaultTimeout, Transport: transport}))
	if _, err := c.client().GetEvent(ctx, c.Event); err != nil { // before an operator waits for retries
		return c.failed(err)
	}
	i := &salesImport{api: api, event: c.Event, total: file.total, users: map[string]func() (string, error){}}
	stop := i.showProgress(s)
	err = i.sellAll(ctx, file)
	stop()
	if err := i.print(s); err != nil {
		return exitFailed, err
	}
	switch {
	case ctx.Err() != nil:
		return exitFailed, errors.New("the import was interrupted; the same command goes on from here")
	case err != nil:
		_, err = c.failed(err)
		return exitFailed, fmt.Errorf("the import stopped before its end; the same command goes on from here: %w", err)
	case len(i.refused) > 0:
		return exitFailed, nil
	default:
		return exitOK, nil
	}
}

// salesImport sells the rows of a file.
type salesImport struct {
	api   *client.Client
	event string
	total int                               // rows of the file
	users map[string]func() (string, error) // finds the user of an email address, once

	mu         sync.Mutex // guards what follows
	sold       int
	soldBefore int // by an earlier run, or an earlier attempt whose answer was lost
	refused    []refusedRow
}

// refusedRow is a row that was not sold.
type refusedRow struct {
	Line   int         `json:"line"`
	Code   client.Code `json:"code"`
	Detail string      `json:"detail,omitempty"`
}

// sellAll sells the rows, several at once. It stops at the first error that does not concern a row alone.
func (i *salesImport) sellAll(ctx context.Context, file *salesFile) error {
	group, ctx := errgroup.WithContext(ctx)
	rows := make(chan saleRow)
	group.Go(func() error {
		defer close(rows)
		return file.each(func(row saleRow) error {
			if row.email != "" {
				row.user = i.userOf(ctx, row.email)
			}
			select {
			case rows <- row:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for range salesAtOnce {
		group.Go(func() error {
			for row := range rows {
				if err := i.sell(ctx, row); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// userOf returns a function that finds the user of an email address, and asks the API once.
func (i *salesImport) userOf(ctx context.Context, email string) func() (string, error) {
	find, isKnown := i.users[email]
	if !isKnown {
		find = sync.OnceValues(func() (string, error) {
			u, found, err := i.api.FindUser(ctx, email)
			if err == nil && !found {
				err = &client.Error{Status: http.StatusNotFound, Code: client.UserNotFound, Detail: "No user has this email address."}
			}
			return u.ID, err
		})
		i.users[email] = find
	}
	return find
}

// sell sells a row. The error does not concern the row alone.
func (i *salesImport) sell(ctx context.Context, row saleRow) (err error) {
	if row.problem != "" {
		i.count(false, &refusedRow{row.line, client.ValidationFailed, row.problem})
		return nil
	}
	row.request.EventID = i.event
	if row.user != nil {
		row.request.UserID, err = row.user()
	}
	var b client.Booking
	if err == nil {
		b, err = i.api.SellSeats(ctx, row.request)
	}
	if refusal := refusalOf(err); refusal != nil {
		i.count(false, &refusedRow{row.line, refusal.Code, whatIsWrong(refusal)})
		return nil
	}
	if err == nil {
		i.count(b.Replayed, nil)
	}
	return err
}

// refusalOf returns the refusal of a row; nil if err is none. After another error, the next row would most probably get the
// same one.
func refusalOf(err error) *client.Error {
	var e *client.Error
	if !errors.As(err, &e) || client.Is(err, client.EventNotFound, client.NotFound) {
		return nil
	}
	switch e.Status {
	case http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		if e.Code != "" {
			return e
		}
	}
	return nil
}

// whatIsWrong names the fields of a row that are not valid, or repeats what the API says.
func whatIsWrong(e *client.Error) string {
	var parts []string
	for _, f := range e.Fields {
		parts = append(parts, strings.TrimPrefix(f.Location, "body.")+": "+f.Message)
	}
	return cmp.Or(strings.Join(parts, "; "), e.Detail)
}

func (i *salesImport) count(isReplayed bool, refused *refusedRow) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case refused != nil:
		i.refused = append(i.refused, *refused)
	case isReplayed:
		i.soldBefore++
	default:
		i.sold++
	}
}

// String says how far the import is.
func (i *salesImport) String() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	done := i.sold + i.soldBefore + len(i.refused)
	return fmt.Sprintf("%d of %d rows: %d sold, %d sold before, %d refused", done, i.total, i.sold, i.soldBefore, len(i.refused))
}

// showProgress prints how far the import is, now and then, until stop is called.
func (i *salesImport) showProgress(s *session) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(saleProgressInterval)
		defer tick.Stop()
		for last := ""; ; {
			select {
			case <-done:
				return
			case <-tick.C:
				if now := i.String(); now != last {
					_, _ = fmt.Fprintln(s.errs, now) // the result does not depend on it
					last = now
				}
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// print prints the result, with the refused rows in the order of their lines at its end.
func (i *salesImport) print(s *session) error {
	slices.SortFunc(i.refused, func(a, b refusedRow) int { return cmp.Compare(a.Line, b.Line) })
	if s.out.format == formatJSON {
		if i.refused == nil {
			i.refused = []refusedRow{}
		}
		return s.out.printJSON(struct {
			Rows       int          `json:"rows"`
			Sold       int          `json:"sold"`
			SoldBefore int          `json:"soldBefore"`
			Refused    []refusedRow `json:"refused"`
		}{i.total, i.sold, i.soldBefore, i.refused}, "  ")
	}
	explained := 0
	for _, r := range i.refused {
		if r.Code != client.ValidationFailed || explained == explainedRows {
			continue
		}
		explained++
		if _, err := fmt.Fprintf(s.errs, "line %d: %s\n", r.Line, visible(r.Detail)); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(s.out.w, i); err != nil {
		return err
	}
	for _, r := range i.refused {
		if _, err := fmt.Fprintf(s.out.w, "line %d: %s\n", r.Line, visible(string(r.Code))); err != nil {
			return err
		}
	}
	return nil
}
