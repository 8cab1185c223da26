package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"time"
)

// User is a customer.
type User struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	CreatedAt time.Time `json:"createdAt"`
}

// CreateUser creates a user. Its retries create one user. After an error without a code, and
// after OutcomeUnknown, the user may exist: FindUser finds it.
func (c *Client) CreateUser(ctx context.Context, name, email string) (User, error) {
	return c.CreateUserOnce(ctx, NewUser{Name: name, Email: email})
}

// NewUser describes a user for CreateUserOnce.
type NewUser struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	// IdempotencyKey makes repeated requests create one user, for 24 h. If it is "", the
	// client generates a key for the call.
	IdempotencyKey string `json:"idempotencyKey"`
}

// CreateUserOnce is CreateUser with a key of the caller: after an unknown outcome, the same call
// returns the user.
func (c *Client) CreateUserOnce(ctx context.Context, n NewUser) (u User, err error) {
	n.IdempotencyKey = cmp.Or(n.IdempotencyKey, rand.Text())
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/api/users", body: n}, &u)
	return u, err
}

// FindUser returns the user with an email address, in any case. found is false if there is
// none.
func (c *Client) FindUser(ctx context.Context, email string) (u User, found bool, err error) {
	var page struct {
		Items []User `json:"items"`
	}
	_, err = c.call(ctx, request{method: http.MethodGet, path: "/api/users", query: url.Values{"email": {email}}}, &page)
	if len(page.Items) > 0 {
		u, found = page.Items[0], true
	}
	return u, found, err
}

// GetUser returns a user.
func (c *Client) GetUser(ctx context.Context, id string) (User, error) {
	return get[User](ctx, c, "/api/users/", id)
}

// UserChange has the fields that UpdateUser changes; nil fields stay as they are.
type UserChange struct {
	Name  *string `json:"name,omitempty"`
	Email *string `json:"email,omitempty"`
}

// UpdateUser changes a user and returns it. It fails with EmailTaken if another user has the address. After an error
// without a code, and after OutcomeUnknown, the user may be changed. The client does not retry then, because another caller
// may have changed the user since.
func (c *Client) UpdateUser(ctx context.Context, id string, change UserChange) (u User, err error) {
	_, err = c.call(ctx, request{method: http.MethodPatch, path: "/api/users/" + url.PathEscape(id), body: change, notIdempotent: true}, &u)
	return u, err
}

// Erased counts the documents that an erasure has changed.
type Erased struct {
	Locks    int64 `json:"locks"`
	Bookings int64 `json:"bookings"`
	Entries  int64 `json:"entries"`
}

// EraseUser erases what is known about a user, for good. It fails with HoldsSeats while the user has a lock or an open booking
// that is not due. After an error without a code, and after OutcomeUnknown, a part is erased: the same call continues.
func (c *Client) EraseUser(ctx context.Context, id string) (Erased, error) {
	return c.erase(ctx, "/api/users/"+url.PathEscape(id)+"/erase", nil)
}

// EraseHolder is EraseUser for a holder.
func (c *Client) EraseHolder(ctx context.Context, holder string) (Erased, error) {
	return c.erase(ctx, "/api/holders/erase", map[string]string{"holder": holder})
}

func (c *Client) erase(ctx context.Context, path string, body any) (erased Erased, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: path, body: body, isLong: true}, &erased)
	return erased, err
}
