package app

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/peers"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/jobs"
)

// OpenPeers makes this process carry out commands for other processes of the API, and they for it; see package peers. It
// is called before Boot. If PEER_ADDR is not set and there is no address for it, the process goes on alone.
func (a *App) OpenPeers(ctx context.Context) error {
	if a.Config.PeerAddr == config.PeersOff {
		return nil
	}
	addr, err := a.peerAddr(ctx)
	if err == nil {
		a.Peers, err = peers.Open(ctx, peers.Options{
			Addr: addr,
			Self: peers.Peer{
				Name: a.Jobs.Holder, Writer: a.Pipeline.Writer(), Build: fmt.Sprintf("%s %+v", version.String(), a.Pipeline.Rules()),
			},
			List: a.listPeers, Pipeline: a.Pipeline, Clock: a.DB.Clock(), Log: a.Log,
			Observe: peers.Observer{
				Forwarded: func(o peers.Outcome) { a.Metrics.Forwarded.WithLabelValues(string(o)).Inc() },
				Received:  a.Metrics.Received.Inc,
			},
		})
	}
	switch {
	case err != nil && a.Config.PeerAddr != "":
		return fmt.Errorf("PEER_ADDR: %w", err)
	case err != nil:
		a.Log.WarnContext(ctx, "Busy events are not sold together with other processes: set PEER_ADDR, or set it to off", slog.Any("error", err))
		return nil
	}
	a.Pipeline.UseForwarder(a.Peers)
	a.Log.InfoContext(ctx, "Listening for other processes of the API", slog.String("addr", a.Peers.Self().Addr))
	return nil
}

// peerAddr is PEER_ADDR, or a free port at the address by which others reach this process: that of HTTP_ADDR, or the
// one that the database sees.
func (a *App) peerAddr(ctx context.Context) (string, error) {
	if a.Config.PeerAddr != "" {
		return a.Config.PeerAddr, nil
	}
	host, _, err := net.SplitHostPort(a.Config.HTTPAddr)
	if err != nil {
		return "", err
	}
	if config.IsUnspecified(host) {
		if host, err = mongodb.LocalHost(ctx, string(a.Config.MongoDBURI)); err != nil {
			return "", err
		}
	}
	return net.JoinHostPort(host, "0"), nil
}

// listPeers are the processes that show a heartbeat.
func (a *App) listPeers(ctx context.Context) ([]peers.Peer, error) {
	processes, err := a.Jobs.Processes(ctx)
	list := make([]peers.Peer, len(processes))
	for i, p := range processes {
		list[i] = peers.Peer{Name: p.Holder, Addr: p.Addr, Certificate: p.Certificate, Writer: p.Writer, Build: p.Build}
	}
	return list, err
}

// presence is what this process's heartbeat shows.
func (a *App) presence() jobs.Presence {
	if a.Peers == nil {
		return jobs.Presence{}
	}
	self := a.Peers.Self()
	return jobs.Presence{Addr: self.Addr, Certificate: self.Certificate, Build: self.Build, Writer: self.Writer}
}
