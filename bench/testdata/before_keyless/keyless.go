// This file is compiled into the benchmark of revision 25efe99 and those near it,
// which have no rows without idempotency keys; see compare_build.go. It uses
// their names.

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/users"
)

func init() {
	const clients = 256
	add := func(name string, row func(settings) *result) {
		for i := range scenarios {
			if rows := scenarios[i].rows; scenarios[i].name == name {
				scenarios[i].rows = func(s settings) []*result { return append(rows(s), row(s)) }
			}
		}
	}
	add("sold-out", func(s settings) *result {
		return inProcess(s, contender{
			name: "engine, without keys", counter: true, locks: true,
			open: func(_ context.Context, w *world) side { return keyless{engine{w.seats}} },
		}, clients, 1, 1)
	})
	add("sold-out-http", func(s settings) *result {
		r := overHTTP(s, engineName, 1, 1, func(ctx context.Context, servers []*server, event ids.ID, user users.User) (measure, error) {
			address := servers[0].address
			connection := &fasthttp.HostClient{Addr: address, MaxConns: clients, ReadTimeout: time.Minute, DisableHeaderNamesNormalizing: true}
			defer connection.CloseIdleConnections()
			return closedLoop(ctx, clock.System, clients, s.lasting, 0, func(context.Context, int, int) (bool, error) {
				return postKeyless(connection, address, event, user.ID)
			})
		})
		r.Side, r.Load = "engine, without keys", fmt.Sprintf("%d clients", clients)
		return r
	})
}

type keyless struct{ engine }

func (k keyless) lock(ctx context.Context, event, user ids.ID, n int64, _ string) (bool, error) {
	return k.engine.lock(ctx, event, user, n, "")
}

func postKeyless(c *fasthttp.HostClient, address string, event, user ids.ID) (granted bool, err error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.Header.SetMethod(http.MethodPost)
	request.SetRequestURI("http://" + address + "/api/locks")
	request.Header.SetContentType("application/json")
	request.SetBodyRaw(fmt.Appendf(nil, `{"eventId":"%s","userId":"%s","seats":1}`, event, user))
	if err := c.Do(request, response); err != nil {
		return false, err
	}
	switch response.StatusCode() {
	case http.StatusCreated:
		return true, nil
	case http.StatusConflict:
		return false, nil
	default:
		return false, fmt.Errorf("%d %s", response.StatusCode(), response.Body())
	}
}
