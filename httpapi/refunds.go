package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

const (
	// refundsListed bounds the answer. Refunded payments leave the list, and others follow.
	refundsListed = 100
	// refundsCounted bounds the cost of the count.
	refundsCounted = 10_000
)

type refundsDueBody struct {
	Items []paymentBody `json:"items" nullable:"false" doc:"The longest due first; at most 100."`
	Due   int64         `json:"due" doc:"Number of due refunds. At most 10,000 are counted."`
}

// registerRefundRoutes registers the console's list of refunds. Shops use the list of payments, which pages.
func (a *api) registerRefundRoutes() {
	route(a, huma.Operation{
		OperationID: "refunds-due", Method: http.MethodGet, Path: "/api/admin/refunds-due", Tags: []string{"Operators"},
		Summary: "List the refunds that have waited longest",
	}, config.ScopeAdmin, func(ctx context.Context, _ *struct{ FilterQuery }) (*found[refundsDueBody], error) {
		due, err := a.Overview.RefundsDue(ctx, refundsCounted)
		if err != nil {
			return nil, err
		}
		payments, err := a.Overview.OldestRefundsDue(ctx, refundsListed)
		body := refundsDueBody{Items: make([]paymentBody, len(payments)), Due: due.Count}
		for i, p := range payments {
			body.Items[i] = newPaymentBody(p)
		}
		return &found[refundsDueBody]{Body: body}, err
	})
}

func paymentHit(p holdfast.Payment, matchedBy string) hitBody {
	return hitBody{
		Kind: kindPayment, ID: p.ID.String(), MatchedBy: matchedBy, Status: string(p.Status),
		EventID: formatID(p.EventID), UserID: Customer{p.UserID, p.Holder}.userID(), Holder: p.Holder, BookingID: formatID(p.BookingID),
	}
}

// findPayments finds the payments with a reference, and whether there are more than are listed.
func (a *api) findPayments(ctx context.Context, reference string) (hits []hitBody, hasMore bool, err error) {
	if len(reference) > holdfast.MaxReferenceLength {
		return nil, false, nil
	}
	payments, next, err := a.Bookings.ListPayments(ctx, holdfast.PaymentFilter{Reference: reference}, holdfast.Page{Size: maxHits})
	for _, p := range payments {
		hits = append(hits, paymentHit(p, "paymentReference"))
	}
	return hits, next != "", err
}
