package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/holdfast-dev/holdfast/client"
)

// kind is what list lists.
type kind struct {
	path    string   // of the API
	columns []string // fields of an item that a table shows
	filters []string // flags
}

var kinds = map[string]kind{
	"events": {
		path: "/api/events", columns: []string{
			"id", "name", "totalSeats", "availableSeats", "oversold", "status", "eventDate", "saleStartsAt", "saleEndsAt", "waitlist", "waiting",
			"reference",
		},
		filters: []string{"status", "reference", "from", "to"},
	},
	"locks": {
		path: "/api/locks", columns: []string{"id", "eventId", "userId", "holder", "seats", "status", "expiresAt", "bookingId", "reference"},
		filters: []string{"event", "user", "holder", "status", "reference"},
	},
	"bookings": {
		path:    "/api/bookings",
		columns: []string{"id", "lockId", "eventId", "userId", "holder", "seats", "status", "paymentExpiresAt", "paymentReference", "reference"},
		filters: []string{"event", "user", "holder", "status", "reference"},
	},
	"entries": {
		path: "/waitlist", // of its event
		columns: []string{
			"position", "id", "userId", "holder", "seats", "categories", "section", "status", "lockId", offerEnd, "createdAt", "reference",
		},
		filters: []string{"user", "holder", "status"},
	},
	"payments": {
		path: "/api/payments",
		columns: []string{
			"id", "provider", "reference", "paymentPart", "bookingId", "eventId", "amount", "currency", "status", "amountDue", "reason",
			"refundReference", "updatedAt",
		},
		filters: []string{"event", "booking", "status", "reference", "provider", "refund-due"},
	},
	"webhooks": {
		path: "/api/webhooks", columns: []string{"id", "url", "types", "eventId", "state", "reason", "updatedAt"},
	},
	"plans": {
		path: "/api/seating-plans", columns: []string{"id", "name", "totalSeats", "createdAt"},
	},
}

// listCmd lists items over the API.
type listCmd struct {
	Kind string `arg:"" enum:"events,locks,bookings,entries,payments,webhooks,plans" help:"One of ${enum}."`
	Of   string `arg:"" name:"event" optional:"" help:"ID of the event whose waiting list is listed as entries, in its order."`

	Event     *string `placeholder:"ID" help:"List only items of this event: locks, bookings and payments."`
	User      *string `placeholder:"ID" help:"List only items of this user: locks, bookings and entries."`
	Holder    *string `help:"List only items of this holder: locks, bookings and entries."`
	Booking   *string `placeholder:"ID" help:"List only payments of this booking."`
	Status    *string `help:"List only items with this status, such as ACTIVE: all but webhooks and plans."`
	From      *string `placeholder:"TIME" help:"List only events whose date is not before this time of RFC 3339, by date."`
	To        *string `placeholder:"TIME" help:"List only events whose date is before this time, by date."`
	Reference *string `help:"List only items with this reference: of payments, the provider's; of events, locks and bookings, the shop's."`
	Provider  *string `help:"List only payments of this provider."`
	RefundDue bool    `help:"List only payments that are REFUND_DUE, or of which a part is DUE; --json has the parts."`
	Limit     limit   `default:"50" help:"Maximum number of items; 0 for all."`

	apiFlags `embed:""`
}

// limit is a number of items; 0 means all.
type limit int

// maxLimit is more than a terminal shows.
const maxLimit = 1_000_000

// Validate is called by the parser.
func (l limit) Validate() error {
	if l < 0 || l > maxLimit {
		return fmt.Errorf("%d is out of range: use 1 to %d, or 0 for all", l, maxLimit)
	}
	return nil
}

// filters are the filters that are given: by their flags, with the API's parameter and the value.
func (c *listCmd) filters() map[string][2]string {
	given := map[string][2]string{}
	for _, f := range []struct {
		flag, parameter string
		value           *string
	}{
		{"event", "eventId", c.Event}, {"user", "userId", c.User}, {"holder", "holder", c.Holder}, {"booking", "bookingId", c.Booking},
		{"status", "status", c.Status}, {"reference", "reference", c.Reference}, {"from", "from", c.From}, {"to", "to", c.To},
		{"provider", "provider", c.Provider},
	} {
		if f.value != nil {
			given[f.flag] = [2]string{f.parameter, *f.value}
		}
	}
	if c.RefundDue {
		given["refund-due"] = [2]string{"refundDue", "true"}
	}
	return given
}

// Validate is called by the parser.
func (c *listCmd) Validate() error {
	switch isOfEvent := c.Kind == "entries"; {
	case isOfEvent && c.Of == "":
		return errors.New("entries are listed by their event: seatctl list entries EVENT")
	case !isOfEvent && c.Of != "":
		return fmt.Errorf("unexpected argument %s: only entries are listed by their event", c.Of)
	}
	allowed := kinds[c.Kind].filters
	for flag := range c.filters() {
		switch {
		case slices.Contains(allowed, flag):
		case len(allowed) == 0:
			return fmt.Errorf("--%s does not apply to %s, which have no filters", flag, c.Kind)
		default:
			return fmt.Errorf("--%s does not apply to %s: use --%s", flag, c.Kind, strings.Join(allowed, ", --"))
		}
	}
	return nil
}

func (c *listCmd) isOffline() {}

func (c *listCmd) run(ctx context.Context, s *session) (int, error) {
	items, isCut, err := c.read(ctx)
	if err != nil {
		return c.failed(err)
	}
	if c.Kind == "entries" && s.out.format != formatJSON {
		if err := c.addOfferEnds(ctx, items); err != nil {
			return c.failed(err)
		}
	}
	columns := kinds[c.Kind].columns
	header := make([]any, len(columns))
	for i, field := range columns {
		header[i] = words(field)
	}
	err = printRows(s.out, items, header, func(item json.RawMessage) []any { return cells(item, columns) })
	if err == nil && isCut {
		_, err = fmt.Fprintf(s.errs, "There are more than %d; use --limit 0 to see all.\n", c.Limit)
	}
	return exitOK, err
}

// read reads items as the API has them. isCut: there are more than the limit.
func (c *listCmd) read(ctx context.Context) (items []json.RawMessage, isCut bool, err error) {
	query := url.Values{}
	if c.Limit > 0 && c.Limit < client.MaxPageSize {
		query.Set("pageSize", strconv.Itoa(int(c.Limit)+1))
	}
	for _, f := range c.filters() {
		query.Set(f[0], f[1])
	}
	path := kinds[c.Kind].path
	if c.Of != "" {
		path = "/api/events/" + url.PathEscape(c.Of) + path
	}
	for item, err := range c.client().ListItems(ctx, path, query) {
		switch {
		case err != nil:
			return nil, false, err
		case c.Limit > 0 && len(items) == int(c.Limit):
			return items, true, nil
		}
		items = append(items, item)
	}
	return items, false, nil
}

// offerEnd is a field that a table of entries has, and the API does not: the end of the lock.
const offerEnd = "offerExpiresAt"

// addOfferEnds adds to each entry with an offer the end of its lock.
func (c *listCmd) addOfferEnds(ctx context.Context, items []json.RawMessage) error {
	api := c.client()
	for i, item := range items {
		var entry map[string]json.RawMessage
		var offer struct{ Status, LockID string }
		if err := errors.Join(json.Unmarshal(item, &entry), json.Unmarshal(item, &offer)); err != nil {
			return err
		}
		if offer.Status != "OFFERED" {
			continue
		}
		text, err := api.Do(ctx, client.RawRequest{Method: http.MethodGet, Path: "/api/locks/" + url.PathEscape(offer.LockID)})
		if client.Is(err, client.LockNotFound) { // it is corrupt: the others are listed
			continue
		}
		if err != nil {
			return err
		}
		var lock struct {
			ExpiresAt json.RawMessage `json:"expiresAt"`
		}
		if err := json.Unmarshal(text, &lock); err != nil {
			return err
		}
		entry[offerEnd] = lock.ExpiresAt
		if items[i], err = json.Marshal(entry); err != nil {
			return err
		}
	}
	return nil
}

// words are the words of a field's name: eventId becomes event id.
func words(field string) string {
	var b strings.Builder
	for _, r := range field {
		if unicode.IsUpper(r) {
			b.WriteByte(' ')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// cells are fields of an item as a table shows them; "" for one that the item does not have.
func cells(item json.RawMessage, columns []string) []any {
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(item))
	decoder.UseNumber()
	if decoder.Decode(&fields) != nil {
		return []any{string(item)}
	}
	row := make([]any, len(columns))
	for i, field := range columns {
		row[i] = cell(fields[field])
	}
	return row
}

func cell(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case []any:
		texts := make([]string, len(value))
		for i, v := range value {
			texts[i] = cell(v)
		}
		return strings.Join(texts, ", ")
	default:
		return fmt.Sprint(value)
	}
}
