package client

import (
	"context"
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
	// WithoutMetadata removes all metadata. Metadata has to be nil.
	WithoutMetadata bool
}

// shopFields are the fields of a ShopDataChange in a request. A nil pointer is null there.
type shopFields struct {
	Reference any `json:"reference,omitempty"`
	Metadata  any `json:"metadata,omitempty"`
}

func (c ShopDataChange) fields() (f shopFields) {
	switch {
	case c.Reference == nil:
	case *c.Reference == "":
		f.Reference = (*string)(nil)
	default:
		f.Reference = c.Reference
	}
	if c.WithoutMetadata || c.Metadata != nil {
		f.Metadata = c.Metadata
	}
	return f
}

// UpdateLock changes the reference and the metadata of a lock, in any status. After an error it is as with UpdateEvent.
func (c *Client) UpdateLock(ctx context.Context, id string, change ShopDataChange) (l Lock, err error) {
	path := inEvent(c.event, "/locks/") + url.PathEscape(id)
	_, err = c.call(ctx, request{method: http.MethodPatch, path: path, body: change.fields(), notIdempotent: true}, &l)
	return l, err
}

// UpdateBooking is UpdateLock for a booking.
func (c *Client) UpdateBooking(ctx context.Context, id string, change ShopDataChange) (b Booking, err error) {
	path := inEvent(c.event, "/bookings/") + url.PathEscape(id)
	_, err = c.call(ctx, request{method: http.MethodPatch, path: path, body: change.fields(), notIdempotent: true}, &b)
	return b, err
}

func (d ShopData) addTo(body map[string]any) {
	if d.Reference != "" {
		body["reference"] = d.Reference
	}
	if len(d.Metadata) > 0 {
		body["metadata"] = d.Metadata
	}
}
