package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// commitCost is what a transaction with so many locks costs on an idle machine.
type commitCost struct {
	Locks float64 `json:"locks"`
	// Total is the time from the requests to their answers, in milliseconds. Database is the part of it in which the
	// process waits for MongoDB.
	Total    float64 `json:"totalMs"`
	Database float64 `json:"databaseMs"`
	// ProcessCPU and MongodCPU are CPU time, in milliseconds. They may be more than the time that passes: both have several
	// threads.
	ProcessCPU float64 `json:"processCpuMs"`
	MongodCPU  float64 `json:"mongodCpuMs"`
	Commands   float64 `json:"commands"` // to MongoDB
}

// httpCost is what a request through HTTP costs besides its share of the transaction, with so many clients.
type httpCost struct {
	Clients   int     `json:"clients"`
	API       float64 `json:"apiCpuMs"`             // CPU time of a request
	Generator float64 `json:"generatorCpuMs"`       // of its client
	Mongod    float64 `json:"mongodCpuMsPerCommit"` // of the search for the users of a transaction
}

// conflictCost is what an attempt costs that finds its event in another process's transaction.
type conflictCost struct {
	Total      float64 `json:"totalMs"`
	ProcessCPU float64 `json:"processCpuMs"`
	MongodCPU  float64 `json:"mongodCpuMs"`
}

// parameters of the simulation. Each is measured by itself; none is fitted to a point that is predicted.
type parameters struct {
	MeasuredAt string `json:"measuredAt"`
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	Go         string `json:"go"`
	// Slowdown is how much longer the same work takes if the other core is busy too.
	Slowdown float64 `json:"slowdown"`

	OneEvent      []commitCost `json:"oneEvent"`      // by the number of locks
	SeveralEvents []commitCost `json:"severalEvents"` // each lock is of another event
	HTTP          []httpCost   `json:"http"`          // by the number of clients
	Conflict      conflictCost `json:"conflict"`
}

func readParameters(file string) (p parameters, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("%s: %w", file, err)
	}
	if len(p.OneEvent) == 0 || len(p.SeveralEvents) == 0 || len(p.HTTP) == 0 || p.Cores == 0 {
		return p, fmt.Errorf("%s has no parameters: measure them (-simulate -measure)", file)
	}
	return p, nil
}

func (p parameters) write(file string) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600)
}

// costOf is the cost of a transaction with so many locks: linear between the sizes that were measured, and in
// proportion beyond the last one. The sizes rise.
func costOf(measured []commitCost, locks float64) commitCost {
	i := 1
	for i < len(measured)-1 && measured[i].Locks < locks {
		i++
	}
	if len(measured) == 1 {
		return measured[0]
	}
	a, b := measured[i-1], measured[i]
	share := (locks - a.Locks) / (b.Locks - a.Locks)
	between := func(a, b float64) float64 { return max(0, a+share*(b-a)) }
	return commitCost{
		Locks: locks, Total: between(a.Total, b.Total), Database: between(a.Database, b.Database),
		ProcessCPU: between(a.ProcessCPU, b.ProcessCPU), MongodCPU: between(a.MongodCPU, b.MongodCPU),
		Commands: between(a.Commands, b.Commands),
	}
}

// httpCostOf is the cost of a request with so many clients of a process: linear between the numbers that were measured,
// and constant beyond them. They rise.
func httpCostOf(measured []httpCost, clients float64) httpCost {
	last := measured[len(measured)-1]
	if clients <= float64(measured[0].Clients) {
		return measured[0]
	}
	for i := 1; i < len(measured); i++ {
		a, b := measured[i-1], measured[i]
		if clients > float64(b.Clients) {
			continue
		}
		share := (clients - float64(a.Clients)) / float64(b.Clients-a.Clients)
		return httpCost{
			API: a.API + share*(b.API-a.API), Generator: a.Generator + share*(b.Generator-a.Generator), Mongod: a.Mongod + share*(b.Mongod-a.Mongod),
		}
	}
	return last
}

// meanOf several measurements of the same parameters, number by number.
func meanOf(all []parameters) (mean parameters, err error) {
	var values []any
	for _, p := range all {
		text, err := json.Marshal(p)
		if err != nil {
			return mean, err
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return mean, err
		}
		values = append(values, value)
	}
	text, err := json.Marshal(meanOfValues(values))
	if err != nil {
		return mean, err
	}
	return mean, json.Unmarshal(text, &mean)
}

// meanOfValues of the same form: of texts, it is the first one.
func meanOfValues(values []any) any {
	switch first := values[0].(type) {
	case float64:
		sum := 0.0
		for _, v := range values {
			sum += v.(float64)
		}
		return sum / float64(len(values))
	case []any:
		mean := make([]any, len(first))
		for i := range first {
			var parts []any
			for _, v := range values {
				parts = append(parts, v.([]any)[i])
			}
			mean[i] = meanOfValues(parts)
		}
		return mean
	case map[string]any:
		mean := map[string]any{}
		for key := range first {
			var parts []any
			for _, v := range values {
				parts = append(parts, v.(map[string]any)[key])
			}
			mean[key] = meanOfValues(parts)
		}
		return mean
	default:
		return first
	}
}
