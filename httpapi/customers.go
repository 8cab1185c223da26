package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

// Customer is a user or, unless Holder is "", a holder. A user may have the ID of a holder, and is another customer.
type Customer struct {
	UserID holdfast.ID // of a holder: holdfast.HolderID
	Holder string
}

// userID is the field userId of an answer: a holder has none.
func (c Customer) userID() string {
	if c.Holder != "" {
		return ""
	}
	return formatID(c.UserID)
}

// holderName is the text of a holder.
type holderName string

// Schema implements huma.SchemaProvider.
func (holderName) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, MinLength: new(1), MaxLength: new(holdfast.MaxHolderLength), Pattern: `^[^\x00-\x1f\x7f-\x9f]*$`,
		PatternDescription: "text without control characters",
		Description:        "A customer of the shop without a user: opaque, compared byte by byte.",
	}
}

// CustomerBody is the part of a request that names its customer.
type CustomerBody struct {
	UserID changeOf[string]     `json:"userId,omitempty" pattern:"^[0-9a-fA-F]{24}$" doc:"Exactly one of userId and holder."`
	Holder changeOf[holderName] `json:"holder,omitempty"`
}

func (b CustomerBody) customer() (Customer, error) {
	user, holder := b.UserID.to, b.Holder.to
	switch {
	case (user == nil) == (holder == nil):
		return Customer{}, holdfast.RefuseInput("body", "Give exactly one of userId and holder.")
	case holder == nil:
		return Customer{UserID: parseID(*user)}, nil
	default:
		id, err := holdfast.CustomerID(holdfast.ID{}, string(*holder))
		return Customer{id, string(*holder)}, err
	}
}

// CustomerQuery is the filter of a list by its customer.
type CustomerQuery struct {
	UserID string     `query:"userId" pattern:"^[0-9a-fA-F]{24}$"`
	Holder holderName `query:"holder" doc:"In place of userId."`
}

// filter returns the customer whose items a list may have: the token's own, or the one that a key has requested. Both are zero
// for all customers.
func (q CustomerQuery) filter(ctx context.Context) (user *holdfast.ID, holder string, err error) {
	f := holdfast.LockFilter{UserID: parseFilter(q.UserID), Holder: string(q.Holder)}
	if err := f.Check(); err != nil {
		return nil, "", err
	}
	info := requestInfoOf(ctx)
	if info.scope != scopeCustomer {
		return f.UserID, f.Holder, nil
	}
	own := info.Customer
	if own.Holder == "" {
		user = &own.UserID
	}
	isOther := f.Holder != "" && f.Holder != own.Holder || f.UserID != nil && (own.Holder != "" || *f.UserID != own.UserID)
	if isOther {
		err = holdfast.NotFound(holdfast.CodeUserNotFound)
	}
	return user, own.Holder, err
}

// eraseTimeout is how long a request erases. A customer with more than that takes another request.
const eraseTimeout = 25 * time.Second

type erasureOfHolder struct {
	Body struct {
		Holder holderName `json:"holder"`
	}
}

type erasedBody struct {
	Locks    int `json:"locks" doc:"Locks that this request has changed."`
	Bookings int `json:"bookings"`
	Entries  int `json:"entries" doc:"Of waiting lists."`
}

func (a *api) registerErasureRoutes() {
	op := huma.Operation{
		Method: http.MethodPost, Tags: []string{"Users"}, Errors: []int{http.StatusNotFound, http.StatusConflict},
		Description: "For good: the name, the address, the text of a holder, metadata and idempotency keys. Locks, bookings and payments stay, " +
			"with their references. What is due ends first; other locks and open bookings refuse with HOLDS_SEATS. " +
			"After OUTCOME_UNKNOWN the same request continues. A repeat changes nothing.",
		Metadata: map[string]any{metadataTimeout: eraseTimeout},
	}
	user, holder := op, op
	user.OperationID, user.Path, user.Summary = "erase-user", "/api/users/{id}/erase", "Erase a user"
	holder.OperationID, holder.Path, holder.Summary = "erase-holder", "/api/holders/erase", "Erase a holder"
	route(a, user, config.ScopeAdmin, func(ctx context.Context, in *PathID) (*found[erasedBody], error) {
		return a.erase(ctx, parseID(in.ID), "")
	})
	route(a, holder, config.ScopeAdmin, func(ctx context.Context, in *erasureOfHolder) (*found[erasedBody], error) {
		return a.erase(ctx, holdfast.ID{}, string(in.Body.Holder))
	})
}

func (a *api) erase(ctx context.Context, user holdfast.ID, holder string) (*found[erasedBody], error) {
	erased, err := a.Eraser.Erase(ctx, user, holder)
	return &found[erasedBody]{Body: erasedBody{Locks: erased.Locks, Bookings: erased.Bookings, Entries: erased.Entries}}, err
}
