package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"time"
)

// Refund is a part of a payment that has to be refunded, or was.
type Refund struct {
	ID              string    `json:"id"`
	Amount          int64     `json:"amount"` // in whole minor units
	Reason          string    `json:"reason"` // seats_changed, other
	Status          string    `json:"status"` // DUE, REFUNDED
	RefundReference string    `json:"refundReference"`
	CreatedAt       time.Time `json:"createdAt"`
}

// RefundPart makes a part of a payment due for refund, in whole minor units, and returns the payment. The payment must be
// ACCEPTED or REFUND_DUE and have an amount, and its parts together are never more than that: otherwise it fails with
// ValidationFailed. A repeat with the same idempotency key, which is unique per payment, makes no second part. If the key is
// "", the client generates one for the call.
func (c *Client) RefundPart(ctx context.Context, paymentID string, amount int64, idempotencyKey string) (p Payment, err error) {
	body := map[string]any{"amount": amount, "idempotencyKey": cmp.Or(idempotencyKey, rand.Text())}
	path := "/api/payments/" + url.PathEscape(paymentID) + "/refunds"
	_, err = c.call(ctx, request{method: http.MethodPost, path: path, body: body}, &p)
	return p, err
}

// NotePartRefunded records that a part of a payment was refunded, and returns the payment. refundReference is the provider's
// ID of the refund. It fails with RefundNotFound, or with PaymentRefunded if the refund was recorded with another reference.
func (c *Client) NotePartRefunded(ctx context.Context, paymentID, refundID, refundReference string) (Payment, error) {
	action := "/refunds/" + url.PathEscape(refundID) + "/refunded"
	return post[Payment](ctx, c, "/api/payments/", paymentID, action, map[string]string{"refundReference": refundReference})
}
