package inventory_test

import (
	"fmt"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// loadPayments reads payments.
func (s *store) loadPayments(n inventory.Needs, state *inventory.State) {
	state.Payments, state.Charged = map[ID]*holdfast.Payment{}, map[inventory.PaymentKey]ID{}
	for _, id := range n.Payments {
		state.Payments[id] = copyOf(s.payments[id])
	}
	for _, key := range n.Charged {
		state.Charged[key] = ID{}
		if p := s.charged(key); p != nil {
			state.Charged[key], state.Payments[p.ID] = p.ID, copyOf(p)
		}
	}
}

func (s *store) charged(key inventory.PaymentKey) *holdfast.Payment {
	for _, p := range s.payments {
		if p.Reference == key.Reference && p.Part == key.Part {
			return p
		}
	}
	return nil
}

func (s *store) writePayments(p inventory.Plan) error {
	for _, made := range p.NewPayments {
		if s.payments[made.ID] != nil || s.charged(inventory.PaymentKey{Reference: made.Reference, Part: made.Part}) != nil {
			return errStale
		}
		s.payments[made.ID] = pointer(made)
	}
	for _, w := range p.Payments {
		was := s.payments[w.ID]
		if was == nil || was.Status != w.From {
			return errStale
		}
		if w.After.Revision != was.Revision+1 || w.After.Status != w.To {
			return fmt.Errorf("payment %+v is written as %+v", was, w)
		}
		s.payments[w.ID] = pointer(w.After)
	}
	return nil
}
