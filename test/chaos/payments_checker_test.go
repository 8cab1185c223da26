package chaos_test

// checkPayments: there is no payment that no client asked for, and what was answered of payments is true. The model
// of the event compares each one with the confirmations.
func (c *clients) checkPayments(final finalState) {
	byID := map[string]finalPayment{}
	for _, p := range final.payments {
		byID[p.ID.String()] = p
		if p.number() == 0 {
			c.violation("payments", "payment %s has the reference %q, which no client had", p.ID, p.Reference)
		}
		if p.Status != "REFUNDED" && p.RefundReference != "" || p.Status == "REFUNDED" && p.RefundReference == "" && !p.isByParts() {
			c.violation("payments", "payment %s is %s with the refund %q and %+v", p.ID, p.Status, p.RefundReference, p.Refunds)
		}
	}
	for _, inv := range c.history {
		if inv.op == opRefund && inv.code != "" {
			p := byID[inv.target]
			if inv.code != "PAYMENT_REFUNDED" || p.Status != "REFUNDED" || !p.isByParts() {
				c.violation("payments", "the refund of payment %s was refused with %s, but it is %+v", inv.target, inv.code, p)
			}
		}
		if inv.payment == "" {
			continue
		}
		p, exists := byID[inv.payment]
		switch {
		case !exists:
			c.violation("payments", "%s of %s was answered with the payment %s, which does not exist", inv.op, inv.target, inv.payment)
		case inv.op == opRefund && (p.Status != "REFUNDED" || p.RefundReference != refundReferenceOf(inv.payment)):
			c.violation("payments", "the refund of payment %s was acknowledged, but it is %+v", inv.payment, p)
		case inv.op == opConfirm && p.Reference != referenceOf(inv.booking, inv.reference):
			c.violation("payments", "booking %s was answered with the payment %s, which has the reference %q", inv.booking, inv.payment, p.Reference)
		}
	}
}
