package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// fleetReport is what a sale of a deployment showed. Sizes are bytes, times of calls milliseconds.
type fleetReport struct {
	APIs   int     `json:"apis"`
	Seated bool    `json:"seated"`
	Scale  float64 `json:"scale"`

	Customers     int     `json:"customers"`
	Events        int     `json:"events"`
	SeatsPerEvent int     `json:"seatsPerEvent"`
	Seconds       float64 `json:"seconds"` // until the last customer has gone

	Granted      int            `json:"granted"`
	Refused      int            `json:"refused"`
	Paid         int64          `json:"paid"`
	SeatsPaid    int64          `json:"seatsPaid"`
	MostRequests int            `json:"mostRequestsPerSecond"`
	MostGrants   int            `json:"mostGrantsPerSecond"`
	Calls        []fleetCall    `json:"calls"`
	Others       map[string]int `json:"otherAnswers"` // what was answered but success and refusals

	// Shares of the customers with a lock who got it later than a customer of the event who came a second or more after
	// them: of those who got one by their first try, and of all.
	OvertakenAtFirst float64 `json:"overtakenAtFirst"`
	Overtaken        float64 `json:"overtaken"`
	// SlowestProcess is the fewest grants of a process ÷ the most.
	SlowestProcess float64 `json:"slowestProcess"`

	Processes   []fleetProcess `json:"processes"`
	Connections map[string]int `json:"mostConnections"`

	Transactions    int64 `json:"transactions"`   // committed, by MongoDB's count
	Aborted         int64 `json:"aborted"`        // by MongoDB's count
	WriteConflicts  int64 `json:"writeConflicts"` // by MongoDB's count
	EngineConflicts int64 `json:"engineConflicts"`
	// Operations of the primary, by MongoDB's count: reads are queries and commands, writes are documents.
	Operations map[string]int `json:"operations"`

	OplogBytes   int64   `json:"oplogBytes"`
	JournalBytes int64   `json:"journalBytes"` // of the primary, with the oplog's
	DataBytes    float64 `json:"dataBytes"`    // documents as they are
	StorageBytes float64 `json:"storageBytes"` // documents as stored, compressed
	IndexBytes   float64 `json:"indexBytes"`
}

type fleetCall struct {
	Kind  string  `json:"kind"`
	Count int     `json:"count"`
	P50   float64 `json:"p50ms"`
	P99   float64 `json:"p99ms"`
	P999  float64 `json:"p999ms"`
}

type fleetProcess struct {
	Name       string  `json:"name"`
	CPUSeconds float64 `json:"cpuSeconds"`
	IdleCores  float64 `json:"idleCores"`          // used without customers
	PerLock    float64 `json:"cpuSecondsPerLock"`  // above that
	Requests   float64 `json:"requests,omitempty"` // of an API
	Grants     float64 `json:"grants,omitempty"`
}

// report is what the customers saw.
func (s *fleetSale) report() *fleetReport {
	r := &fleetReport{
		Customers: s.model.Customers, Events: s.model.Events, SeatsPerEvent: s.d.capacity, Seconds: s.ended.Seconds(),
		Granted: len(s.grants), Refused: len(s.latencies[callRefused]), Paid: s.paid, SeatsPaid: s.paidSeats, Others: s.answers,
	}
	for _, second := range s.perSecond {
		r.MostRequests, r.MostGrants = max(r.MostRequests, second.Requests), max(r.MostGrants, second.Grants)
	}
	for _, kind := range callKinds {
		m := measurement{latencies: s.latencies[kind]}
		r.Calls = append(r.Calls, fleetCall{
			Kind: kind, Count: len(m.latencies), P50: inMilliseconds(m.quantile(.5)),
			P99: inMilliseconds(m.quantile(.99)), P999: inMilliseconds(m.quantile(.999)),
		})
	}
	first := slices.DeleteFunc(slices.Clone(s.grants), func(g grant) bool { return !g.first })
	r.OvertakenAtFirst, r.Overtaken = overtaken(first, time.Second), overtaken(s.grants, time.Second)
	return r
}

// overtaken is the share of the grants that came later than one of the same event whose customer had come a gap or more
// after them.
func overtaken(grants []grant, gap time.Duration) float64 {
	if len(grants) == 0 {
		return 0
	}
	byEvent := map[int][]grant{}
	for _, g := range grants {
		byEvent[g.event] = append(byEvent[g.event], g)
	}
	n := 0
	for _, of := range byEvent {
		slices.SortFunc(of, func(a, b grant) int { return cmp.Compare(b.arrived, a.arrived) }) // the last to come first
		soonest, next := time.Duration(1<<62), 0
		for _, g := range of {
			for ; next < len(of) && of[next].arrived >= g.arrived+gap; next++ {
				soonest = min(soonest, of[next].when)
			}
			if soonest < g.when {
				n++
			}
		}
	}
	return float64(n) / float64(len(grants))
}

// addProbes adds what the deployment used without customers, between the first two readings, and with them.
func (r *fleetReport) addProbes(ctx context.Context, readings [3]reading, p *probe) (err error) {
	idle, before, after := readings[0], readings[1], readings[2]
	least, most := -1.0, 0.0
	for _, c := range p.components {
		of := fleetProcess{
			Name: c.Name, CPUSeconds: (after.cpu[c.Name] - before.cpu[c.Name]).Seconds(),
			IdleCores: (before.cpu[c.Name] - idle.cpu[c.Name]).Seconds() / before.at.Sub(idle.at).Seconds(),
		}
		of.PerLock = max(0, of.CPUSeconds-of.IdleCores*after.at.Sub(before.at).Seconds()) / float64(max(r.Granted, 1))
		if counts, isAPI := after.metrics[c.Name]; isAPI {
			of.Requests = counts.requests - before.metrics[c.Name].requests
			of.Grants = counts.locks - before.metrics[c.Name].locks
			r.EngineConflicts += int64(counts.conflicts - before.metrics[c.Name].conflicts)
			most = max(most, of.Grants)
			if least < 0 || of.Grants < least {
				least = of.Grants
			}
		}
		r.Processes = append(r.Processes, of)
	}
	if most > 0 {
		r.SlowestProcess = least / most
	}
	r.Connections = p.mostOpen
	r.Transactions = after.server.Transactions.Committed - before.server.Transactions.Committed
	r.Aborted = after.server.Transactions.Aborted - before.server.Transactions.Aborted
	r.WriteConflicts = after.server.Metrics.Operation.WriteConflicts - before.server.Metrics.Operation.WriteConflicts
	was, is := before.server.Operations, after.server.Operations
	r.Operations = map[string]int{
		"inserts": int(is.Insert - was.Insert), "queries": int(is.Query - was.Query),
		"updates": int(is.Update - was.Update), "commands": int(is.Command - was.Command),
	}
	r.JournalBytes = after.server.Wired.Log.Written - before.server.Wired.Log.Written
	r.DataBytes = after.data.Data - before.data.Data
	r.StorageBytes, r.IndexBytes = after.data.Storage-before.data.Storage, after.data.Indexes-before.data.Indexes
	r.OplogBytes, err = p.oplogBytes(ctx, before.oplog)
	return err
}

// measurement is the row of the report. Its latencies are those of granted locks.
func (r *fleetReport) measurement(s *fleetSale) measurement {
	cpu := 0.0
	for _, p := range r.Processes[1:] {
		cpu += p.PerLock
	}
	return measurement{
		Granted: r.Granted, Refused: r.Refused, Seconds: r.Seconds, latencies: s.latencies[callLock], fleet: r,
		note: fmt.Sprintf("%d locks, %d a second at most, %d paid; %.1f ms of CPU a lock; %.2g %% overtaken",
			r.Granted, r.MostGrants, r.Paid, 1e3*cpu, 100*r.OvertakenAtFirst),
	}
}

// markdown is the report in tables.
func (r *fleetReport) markdown() string {
	var b strings.Builder
	perLock := func(x float64) float64 { return x / float64(max(r.Granted, 1)) }
	fmt.Fprintf(&b, "### %d API, %s\n\n", r.APIs, kind(r.Seated))
	fmt.Fprintf(&b, "%d customers, %d events of %d seats, %g × the speed of a real sale, %.1f s. "+
		"%d locks (%.0f a second, %d at most), %d refusals, %d requests a second at most; %d bookings paid, with %d of %d seats.\n\n",
		r.Customers, r.Events, r.SeatsPerEvent, r.Scale, r.Seconds, r.Granted, float64(r.Granted)/r.Seconds, r.MostGrants, r.Refused,
		r.MostRequests, r.Paid, r.SeatsPaid, r.Events*r.SeatsPerEvent)
	b.WriteString("| call | number | p50 ms | p99 ms | p99.9 ms |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, c := range r.Calls {
		fmt.Fprintf(&b, "| %s | %d | %.1f | %.1f | %.1f |\n", c.Kind, c.Count, c.P50, c.P99, c.P999)
	}
	b.WriteString("\n| process | CPU s | idle, of a core | above idle, µs a lock | locks | requests |\n" +
		"| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, p := range r.Processes {
		counts := " | "
		if p.Requests > 0 {
			counts = fmt.Sprintf("%.0f | %.0f", p.Grants, p.Requests)
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.0f | %s |\n", p.Name, p.CPUSeconds, p.IdleCores, 1e6*p.PerLock, counts)
	}
	fmt.Fprintf(&b, "\n- Fairness: the process with the fewest grants has %.2f of the most. %.2f %% of the customers who got a lock by their "+
		"first try got it later than one who came a second or more after them; of all with a lock, %.1f %%.\n",
		r.SlowestProcess, 100*r.OvertakenAtFirst, 100*r.Overtaken)
	fmt.Fprintf(&b, "- Transactions: %d committed, %d aborted, %d write conflicts; %d given up by an API for a conflict.\n",
		r.Transactions, r.Aborted, r.WriteConflicts, r.EngineConflicts)
	fmt.Fprintf(&b, "- Operations of the primary: %s.\n", inWords(r.Operations))
	fmt.Fprintf(&b, "- Bytes a lock: oplog %.0f, journal %.0f, documents %.0f (%.0f stored), indexes %.0f.\n", perLock(float64(r.OplogBytes)),
		perLock(float64(r.JournalBytes)), perLock(r.DataBytes), perLock(r.StorageBytes), perLock(r.IndexBytes))
	fmt.Fprintf(&b, "- Connections at most: %s.\n- Other answers: %s.\n", inWords(r.Connections), inWords(r.Others))
	return b.String()
}

// inWords lists counts by name.
func inWords(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return cmp.Or(strings.Join(parts, "; "), "none")
}
