package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// ShopData is what a shop keeps with an event, a lock or a booking. Only keys may set and read it; lists filter by the
// reference.
type ShopData struct {
	Reference string            `json:"reference,omitempty"` // the shop's own name for it
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// ShopDataChange changes a reference and metadata; what is nil stays.
type ShopDataChange struct {
	Reference *string // "" removes it
	// Metadata is merged key by key; a nil value removes its key.
	Metadata map[string]*string
	// WithoutMetadata removes all metadata. It can't be given together with Metadata: the API removes or merges in one request.
	WithoutMetadata bool
}

// shopFields are the fields of a ShopDataChange in a request. A nil pointer is null there.
type shopFields struct {
	Reference any `json:"reference,omitempty"`
	Metadata  any `json:"metadata,omitempty"`
}

// errWithAndWithout says that a change removes all metadata, and sets some.
var errWithAndWithout = errors.New("give Metadata or WithoutMetadata, not both")

func (c ShopDataChange) fields() (f shopFields, err error) {
	switch {
	case c.WithoutMetadata && len(c.Metadata) > 0:
		return f, errWithAndWithout
	case c.Reference == nil:
	case *c.Reference == "":
		f.Reference = (*string)(nil)
	default:
		f.Reference = c.Reference
	}
	switch {
	case c.WithoutMetadata:
		f.Metadata = map[string]*string(nil)
	case c.Metadata != nil:
		f.Metadata = c.Metadata
	}
	return f, nil
}

// UpdateLock changes the reference and the metadata of a lock, in any status. After an error it is as with UpdateEvent.
func (c *Client) UpdateLock(ctx context.Context, id string, change ShopDataChange) (l Lock, err error) {
	err = c.changeShopData(ctx, "/locks/", id, change, &l)
	return l, err
}

// UpdateBooking is UpdateLock for a booking.
func (c *Client) UpdateBooking(ctx context.Context, id string, change ShopDataChange) (b Booking, err error) {
	err = c.changeShopData(ctx, "/bookings/", id, change, &b)
	return b, err
}

func (c *Client) changeShopData(ctx context.Context, kind, id string, change ShopDataChange, out any) error {
	fields, err := change.fields()
	if err == nil {
		path := inEvent(c.event, kind) + url.PathEscape(id)
		_, err = c.call(ctx, request{method: http.MethodPatch, path: path, body: fields, notIdempotent: true}, out)
	}
	return err
}

func (d ShopData) addTo(body map[string]any) {
	if d.Reference != "" {
		body["reference"] = d.Reference
	}
	if len(d.Metadata) > 0 {
		body["metadata"] = d.Metadata
	}
}
