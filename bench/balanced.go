package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/devserver"
)

const (
	balancedClients = 256
	balancedEvents  = 100
)

// balancer is a load balancer as it is shipped in deploy.
type balancer struct {
	name    string
	command func(ctx context.Context, deploy, listen string, servers [3]string, progress io.Writer) (devserver.Command, error)
}

var balancers = []balancer{
	{"HAProxy", devserver.HAProxyCommand},
	{"nginx", devserver.NginxCommand},
}

// balanced measures one event and many behind the load balancers, whose addresses are those of one process or of three.
func balanced(s settings) (rows []*result) {
	for _, events := range []int{1, balancedEvents} {
		load := fmt.Sprintf("%d events", events)
		if events == 1 {
			load = "one event"
		}
		for _, processes := range []int{1, 3} {
			for _, b := range append([]balancer{{name: "none"}}, balancers...) {
				if b.command == nil && processes > 1 {
					continue
				}
				name := fmt.Sprintf("engine, %d behind %s", processes, b.name)
				if b.command == nil {
					name = "engine, no load balancer"
				}
				row := httpRow{variant: name, load: load, processes: processes, seats: ampleSeats}
				var more []holdfast.ID
				row.beside = func(ctx context.Context, e *env) (end func(*measurement) error, err error) {
					more, err = e.createEvents(ctx, events-1)
					return func(*measurement) error { return nil }, err
				}
				row.run = func(ctx context.Context, servers []*server, event holdfast.ID, user holdfast.User) (measurement, error) {
					return b.lock(ctx, s, servers, append(more, event), user)
				}
				rows = append(rows, overHTTP(s, row))
			}
		}
	}
	return rows
}

// lock lets clients lock seats of random events through the load balancer.
func (b balancer) lock(ctx context.Context, s settings, servers []*server, events []holdfast.ID, user holdfast.User) (measurement, error) {
	address := servers[0].address
	if b.command != nil {
		proxy, at, err := b.start(ctx, servers)
		if err != nil {
			return measurement{}, err
		}
		defer proxy.Stop()
		address = at
	}
	to := serverConn{&fasthttp.HostClient{
		Addr: address, MaxConns: balancedClients, ReadTimeout: time.Minute, DisableHeaderNamesNormalizing: true,
	}}
	defer to.CloseIdleConnections()
	return closedLoop(ctx, balancedClients, s.duration, func(_ context.Context, client, n int) (bool, error) {
		event := events[rand.IntN(len(events))]
		body := fmt.Appendf(nil, `{"userId":"%s","seats":1,"idempotencyKey":"%s"}`, user.ID, requestKey(client, n))
		return to.postLockTo("/api/events/"+event.String()+"/locks", body)
	})
}

// start starts the load balancer, and waits until it passes requests on.
func (b balancer) start(ctx context.Context, servers []*server) (p *devserver.Process, address string, err error) {
	port, err := devserver.ReservePort()
	if err != nil {
		return nil, "", err
	}
	var addresses [3]string
	for i := range addresses {
		addresses[i] = servers[i%len(servers)].address
	}
	address = port.Addr()
	command, err := b.command(ctx, "deploy", address, addresses, os.Stderr)
	if err == nil {
		err = port.Close()
	}
	if err != nil {
		return nil, "", err
	}
	if p, err = devserver.Start(command); err != nil {
		return nil, "", err
	}
	if err := waitFor(ctx, p, address, "/api/events"); err != nil {
		p.Stop()
		return nil, "", err
	}
	return p, address, nil
}
