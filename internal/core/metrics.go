package core

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Observe returns an observer that moves the metrics. collections are those of other packages, as in Options.
func Observe(m telemetry.Engine, collections ...mongodb.Collection) Observer {
	searched := slices.Concat(Collections(), collections)
	return Observer{
		Database: mongodb.Observer{
			Transaction: func(o mongodb.Outcome, attempts int) {
				m.Transactions.WithLabelValues(string(o)).Inc()
				m.Attempts.Observe(float64(attempts))
			},
			Orphans: func(n int) { m.OrphansEnded.Add(float64(n)) },
		},
		Bookings: booking.Observer{
			Late: func(accepted bool) {
				outcome := "refused"
				if accepted {
					outcome = "accepted"
				}
				m.LatePayments.WithLabelValues(outcome).Inc()
			},
			Duplicate: m.Duplicates.Inc,
		},
		Corrected: m.Corrections.Inc,
		Corrupt: func(found CorruptReport) {
			for _, c := range searched {
				if c.Schema != nil {
					m.Corrupt.WithLabelValues(c.Name).Set(float64(len(found.Of(c.Name))))
				}
			}
		},
		Listed: func(p inventory.Plan) {
			m.WaitlistChanges.WithLabelValues("joined").Add(float64(len(p.NewEntries)))
			for _, w := range p.Entries {
				m.WaitlistChanges.WithLabelValues(strings.ToLower(string(w.To))).Inc()
			}
		},
		MissedOffers: func(offers int) { m.MissedOffers.Add(float64(offers)) },
	}
}

// Observe makes the jobs move the metrics.
func (s *Jobs) Observe(m telemetry.Engine) {
	s.Archived = func(events int) { m.EventsArchived.Add(float64(events)) }
	s.Oversold = func(events int) { m.OversoldEvents.Set(float64(events)) }
	s.ListChecked = func(c inventory.ListCheck) {
		for range c.Offers {
			m.WaitlistDelay.Observe(c.Late.Seconds())
		}
	}
	s.ListTotals = func(t *store.ListTotals) {
		if t == nil {
			m.ForgetWaitlist()
			return
		}
		m.WaitlistEntries.WithLabelValues("waiting").Set(float64(t.Waiting))
		m.WaitlistEntries.WithLabelValues("offered").Set(float64(t.Offered))
		m.WaitlistOldest.Set(t.OldestWaiting.Seconds())
	}
}
