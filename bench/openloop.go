package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/users"
)

// openLoop sends at fixed rates whatever comes back, as customers do: who can't
// bear a rate falls behind it. Baselines are spared the rates that they have
// long fallen behind of.
func openLoop(s settings) (rows []*result) {
	for _, rate := range []int{200, 1000, 4000} {
		for _, name := range []string{engineName, sideTransaction, sideMutex} {
			if rate > 1000 && name != engineName {
				continue
			}
			r := overHTTP(s, name, 1, plenty, func(ctx context.Context, servers []*server, event ids.ID, user users.User) (measure, error) {
				return attack(ctx, s, servers[0], rate, event, user)
			})
			r.Load = fmt.Sprintf("%d a second", rate)
			rows = append(rows, r)
		}
	}
	return rows
}

// patience is how long a customer waits for an answer.
const patience = 5 * time.Second

func attack(ctx context.Context, s settings, to *server, rate int, event ids.ID, user users.User) (measure, error) {
	var n atomic.Int64
	target := func(t *vegeta.Target) error {
		t.Method, t.URL = http.MethodPost, "http://"+to.address+"/api/locks"
		t.Header = http.Header{"Content-Type": {"application/json"}}
		t.Body = fmt.Appendf(nil, `{"eventId":"%s","userId":"%s","seats":1,"idempotencyKey":"%d"}`, event, user.ID, n.Add(1))
		return nil
	}
	attacker := vegeta.NewAttacker(vegeta.Timeout(patience), vegeta.Connections(rate), vegeta.MaxConnections(rate))
	var m measure
	start := clock.System()
	for answer := range attacker.Attack(target, vegeta.Rate{Freq: rate, Per: time.Second}, s.lasting, "") {
		m.took = append(m.took, answer.Latency)
		switch answer.Code {
		case http.StatusCreated:
			m.Granted++
		case http.StatusConflict:
			m.Refused++
		default:
			m.failed++
		}
	}
	m.Seconds = clock.Clock(clock.System).Since(start).Seconds()
	if m.failed > 0 {
		m.note = fmt.Sprintf("%.0f %% not answered in %v", 100*float64(m.failed)/float64(len(m.took)), patience)
	}
	return m, ctx.Err()
}
