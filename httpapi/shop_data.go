package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

// ShopBody has the fields of holdfast.ShopData in an answer.
type ShopBody struct {
	Reference string            `json:"reference,omitempty" doc:"The shop's own name. A customer's token doesn't get it."`
	Metadata  map[string]string `json:"metadata,omitempty" doc:"The shop's own data. A customer's token doesn't get it."`
}

// shopDataFor returns what the caller may see.
func shopDataFor(ctx context.Context, d holdfast.ShopData) holdfast.ShopData {
	if requestInfoOf(ctx).scope == scopeCustomer {
		return holdfast.ShopData{}
	}
	return d
}

// ShopTerms has the fields of holdfast.ShopData in a request that creates something.
type ShopTerms struct {
	Reference changeOf[string]   `json:"reference,omitempty" minLength:"1" maxLength:"128" doc:"The shop's own name. For keys only."`
	Metadata  changeOf[metadata] `json:"metadata,omitempty" doc:"At most 20 texts of the shop, by names such as order_id. For keys only."`
}

// shopData returns what the request gives. Customers may give nothing.
func (t ShopTerms) shopData(ctx context.Context) (d holdfast.ShopData, err error) {
	if t.Reference.to != nil {
		d.Reference = *t.Reference.to
	}
	if t.Metadata.to != nil {
		d.Metadata = *t.Metadata.to
	}
	if err := d.CheckShopData("body"); err != nil {
		return d, err
	}
	return d, requireKey(ctx, !d.HasNoShopData())
}

// requireKey refuses a customer's token that gives what only a key may give.
func requireKey(ctx context.Context, isGiven bool) error {
	if isGiven && requestInfoOf(ctx).scope == scopeCustomer {
		return newProblem(http.StatusForbidden, codeForbidden, "Only the shop's keys may use reference and metadata.")
	}
	return nil
}

// ShopChange has the fields of holdfast.ShopDataChange in a request.
type ShopChange struct {
	Reference removable[string]         `json:"reference,omitempty" minLength:"1" maxLength:"128" doc:"null removes it."`
	Metadata  removable[metadataChange] `json:"metadata,omitempty" doc:"Merged key by key. null removes a key, or all of them."`
}

func (c ShopChange) shopData() holdfast.ShopDataChange {
	change := holdfast.ShopDataChange{Reference: c.Reference.to, WithoutMetadata: c.Metadata.removed}
	if c.Reference.removed {
		change.Reference = new("")
	}
	if c.Metadata.to != nil {
		change.Metadata = *c.Metadata.to
	}
	return change
}

// shopDataOfKey returns the change of a lock or a booking, of which a key knows reference and metadata. It refuses a customer's
// token, once the request has the right shape.
func (c ShopChange) shopDataOfKey(ctx context.Context) (holdfast.ShopDataChange, error) {
	change := c.shopData()
	if err := change.Check("body"); err != nil {
		return change, err
	}
	return change, requireScope(ctx, config.ScopeBooking)
}

type (
	metadata       map[string]string
	metadataChange map[string]*string // null removes the key
)

// Schema implements huma.SchemaProvider.
func (metadata) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, MaxProperties: new(holdfast.MaxMetadata), AdditionalProperties: metadataValue(false)}
}

// Schema implements huma.SchemaProvider.
func (metadataChange) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: metadataValue(true)}
}

func metadataValue(isNullable bool) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, MaxLength: new(holdfast.MaxMetadataValueLength), Nullable: isNullable}
	s.PrecomputeMessages()
	return s
}

// ReferenceQuery filters a list by the shop's own name.
type ReferenceQuery struct {
	Reference string `query:"reference" maxLength:"128" doc:"The shop's own name. For keys only."`
}
