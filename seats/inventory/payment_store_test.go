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
		if state.Payments[id] = copyOf(s.payments[id]); s.corrupt[id] {
			state.Payments[id] = nil
		}
	}
	for _, key := range n.Charged {
		state.Charged[key] = ID{}
		if p := s.charged(key); p != nil {
			if state.Charged[key], state.Payments[p.ID] = p.ID, copyOf(p); s.corrupt[p.ID] {
				state.Payments[p.ID] = nil
			}
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
		if was == nil || was.Status != w.From || was.Revision != w.After.Revision-1 {
			return errStale
		}
		if w.After.Status != w.To {
			return fmt.Errorf("payment %+v is written as %+v", was, w)
		}
		s.payments[w.ID] = pointer(w.After)
	}
	return nil
}
