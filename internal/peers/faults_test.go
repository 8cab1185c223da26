package peers_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/peers"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// submitted is a command whose answer is awaited.
type submitted struct {
	id     holdfast.ID
	answer chan error
}

// submit submits commands from processes, and returns when the owner has received them.
func (f *fleet) submit(ctx context.Context, from []*process, each int, key func(i int) string) (all []submitted) {
	f.t.Helper()
	owner := f.owner()
	before := owner.received.Load()
	for _, p := range from {
		for range each {
			c := acquire(f.event, 1, key(len(all)))
			s := submitted{c.LockID, make(chan error, 1)}
			all = append(all, s)
			go func() {
				result, err := p.Submit(ctx, f.event, c)
				if err == nil && result.Lock.ID != c.LockID {
					err = fmt.Errorf("the answer is lock %s", result.Lock.ID)
				}
				s.answer <- err
			}()
		}
	}
	testenv.WaitFor(f.t, func() bool { return owner.received.Load() == before+int64(len(all)) })
	return all
}

func keyed(i int) string { return fmt.Sprintf("key-%d", i) }
func keyless(int) string { return "" }

// A caller that gives up while the owner has its command gets no seats, and is told what is true.
func TestForward_CallersThatGiveUpGetNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key  func(int) string
		want holdfast.Code
	}{
		"without a key": {keyless, holdfast.CodeUnavailable},
		"with a key":    {keyed, holdfast.CodeOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, nil)
			release := f.w.HoldEvent(f.event.String())
			ctx, giveUp := context.WithCancel(t.Context())
			commands := f.submit(ctx, f.others(), 5, c.key)
			giveUp()
			for _, s := range commands {
				if err := <-s.answer; !holdfast.HasCode(err, c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
			}
			release()
			f.sell(f.all, 1) // the queue is served again
			f.wantTaken(3)
			for _, s := range commands {
				if _, err := f.w.Store.Lock(t.Context(), s.id); !holdfast.HasCode(err, holdfast.CodeLockNotFound) {
					t.Errorf("a lock was made: %v", err)
				}
			}
		})
	}
}

// The connection to the owner breaks, and the owner goes on. Each command is carried out once: by the owner if it was
// further, else by its own process. No caller notices.
func TestForward_ALostOwnerLosesNoCommand(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, nil)
	owner, others := f.owner(), f.others()
	release := f.w.HoldEvent(f.event.String())
	commands := f.submit(t.Context(), others, 5, keyed)
	owner.Kill()
	for _, p := range others {
		testenv.WaitFor(t, func() bool { return p.lost.Load() == 5 })
	}
	release()
	for _, s := range commands {
		if err := <-s.answer; err != nil {
			t.Errorf("got %v", err)
		}
		if lock, err := f.w.Store.Lock(t.Context(), s.id); err != nil || lock.Status != holdfast.LockActive {
			t.Error(lock, err)
		}
	}
	f.sell(f.all, 1)
	f.wantTaken(int64(len(commands)) + 3)
}

// A process that hangs, or whose network is cut, is not waited for: neither the owner by those that ask, nor those that
// ask by the owner.
func TestForward_ASilentProcessIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	cut := make(chan struct{})
	relays := map[string]string{}
	f := newFleet(t, 2, func(addr string) string { // one process refreshes at a time here
		if relays[addr] == "" {
			relays[addr] = relay(t, addr, cut)
		}
		return relays[addr]
	})
	owner, other := f.owner(), f.others()
	release := f.w.HoldEvent(f.event.String())
	commands := f.submit(t.Context(), other, 5, keyed)
	close(cut)
	began := time.Now()
	testenv.WaitFor(t, func() bool { return other[0].lost.Load() == 5 })
	if d := time.Since(began); d < peers.SilenceTimeout/2 {
		t.Errorf("the owner was given up after %v", d)
	}
	release()
	for _, s := range commands {
		if err := <-s.answer; err != nil {
			t.Errorf("got %v", err)
		}
	}
	if _, err := owner.Submit(t.Context(), f.event, acquire(f.event, 1, "")); err != nil {
		t.Errorf("the owner's own client got %v", err)
	}
	f.wantTaken(6)
}

// The same under load: more is sent than the connection takes without being read.
func TestForward_ASilentOwnerIsNotWaitedForUnderLoad(t *testing.T) {
	t.Parallel()
	cut := make(chan struct{})
	relays := map[string]string{}
	f := newFleet(t, 2, func(addr string) string {
		if relays[addr] == "" {
			relays[addr] = relay(t, addr, cut)
		}
		return relays[addr]
	})
	p := f.others()[0]
	close(cut)
	const commands = 900 // of a KiB
	answers := make(chan error, commands)
	for i := range commands {
		go func() {
			_, err := p.Submit(t.Context(), f.event, acquire(f.event, 1, fmt.Sprintf("%01000d", i)))
			answers <- err
		}()
	}
	for range commands {
		if err := <-answers; err != nil {
			t.Fatalf("got %v", err)
		}
	}
	if p.lost.Load() == 0 {
		t.Error("nothing was sent to the owner")
	}
	f.wantTaken(commands)
}

// A process that is not heard any more gets nothing done later: what its process has answered since stays.
func TestForward_NothingIsCarriedOutTooLate(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, nil)
	owner, p := f.owner(), f.others()[0]
	kept := acquire(f.event, 1, "kept")
	if _, err := owner.Submit(t.Context(), f.event, kept); err != nil {
		t.Fatal(err)
	}
	release := f.w.HoldEvent(f.event.String())
	received := owner.received.Load()
	changed := make(chan error, 1)
	go func() {
		_, err := p.Submit(t.Context(), f.event, inventory.ChangeSeats{LockID: kept.LockID, Seats: 7})
		changed <- err
	}()
	testenv.WaitFor(t, func() bool { return owner.received.Load() == received+1 })
	owner.Kill()
	if err := <-changed; !holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) {
		t.Errorf("got %v", err)
	}
	release()
	f.sell([]*process{owner}, 1) // its queue has been served
	f.wantTaken(2)
}

// relay forwards connections to an address until cut is closed. Then it swallows everything, the end of a connection too.
func relay(t *testing.T, to string, cut <-chan struct{}) (addr string) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	pass := func(from, to net.Conn) {
		buffer := make([]byte, 1<<16)
		for {
			n, err := from.Read(buffer)
			select {
			case <-cut:
			default:
				if err == nil {
					_, err = to.Write(buffer[:n])
				}
				if err != nil {
					_ = to.Close()
				}
			}
			if err != nil {
				return
			}
		}
	}
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return listener.Addr().String()
}

// A process that stops carries out what it has, and gets no more; its events go on elsewhere.
func TestForward_AProcessThatStops(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, nil)
	owner, others := f.owner(), f.others()
	kept := acquire(f.event, 1, "kept")
	if _, err := owner.Submit(t.Context(), f.event, kept); err != nil {
		t.Fatal(err)
	}
	release := f.w.HoldEvent(f.event.String())
	commands := f.submit(t.Context(), others, 3, keyless)
	closed := make(chan error, 1)
	owner.Leave()
	owner.stops.Store(true)
	change := make(chan error, 1)
	go func() {
		result, err := others[0].Submit(t.Context(), f.event, inventory.ChangeSeats{LockID: kept.LockID, Seats: 2})
		if err == nil && result.Lock.Seats != 2 {
			err = fmt.Errorf("got %+v", result.Lock)
		}
		change <- err
	}()
	testenv.WaitFor(t, func() bool { return owner.received.Load() == int64(len(commands))+1 })
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		closed <- owner.Peers.Close(ctx)
	}()
	select {
	case err := <-closed:
		t.Fatalf("it stopped with commands under way: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	release()
	for _, s := range commands {
		if err := <-s.answer; err != nil {
			t.Errorf("got %v", err)
		}
	}
	if err := <-change; err != nil { // its answer must not be lost: it is not repeated
		t.Errorf("a change of seats got %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	received := owner.received.Load()
	f.sell(others, 5)
	f.refresh()
	f.sell(others, 5)
	if owner.received.Load() != received {
		t.Errorf("the process that has stopped received %d more commands", owner.received.Load()-received)
	}
	if name := others[0].OwnerOf(f.event); name == owner.Self().Name {
		t.Errorf("%s still owns the event", name)
	}
	f.wantTaken(int64(len(commands)) + 20 + 2)
}

// A process that can't stop in time says so.
func TestClose_HasABound(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, nil)
	release := f.w.HoldEvent(f.event.String())
	commands := f.submit(t.Context(), f.others(), 2, keyless)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.owner().Peers.Close(ctx); err == nil {
		t.Error("it closed with commands under way")
	}
	release()
	for _, s := range commands {
		if err := <-s.answer; err != nil {
			t.Errorf("got %v", err)
		}
	}
	f.wantTaken(2)
}

// A list that fails, or has not even this process, changes nothing.
func TestRefresh_KeepsTheListWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, nil)
	all, p := f.all, f.others()[0]
	f.all = nil
	p.Refresh(t.Context())
	f.all = all
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Refresh(ctx)
	if name := f.owner().Self().Name; !p.IsConnectedTo(name) || p.OwnerOf(f.event) != name {
		t.Errorf("the owner is %s, want %s", p.OwnerOf(f.event), name)
	}
}

// A process that is not in the database can't send commands, and gets none.
func TestPeers_KnowEachOtherByTheirCertificates(t *testing.T) {
	t.Parallel()
	f := newIdleFleet(t, 2, nil)
	stranger, err := peers.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	for name, certificates := range map[string][]tls.Certificate{"no certificate": nil, "a stranger's": {stranger}} {
		conn, err := (&tls.Dialer{Config: &tls.Config{
			InsecureSkipVerify: true, Certificates: certificates, NextProtos: []string{"h2"},
		}}).DialContext(t.Context(), "tcp", f.all[0].Self().Addr)
		if err == nil { // with TLS 1.3 the refusal follows
			_ = conn.SetDeadline(clock.Deadline(10 * time.Second))
			_, err = conn.Read(make([]byte, 1))
			_ = conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "tls:") {
			t.Errorf("%s: got %v", name, err)
		}
	}

	p, other := f.all[0], f.all[1].Self().Name
	addr, refused := impostor(t, stranger)
	f.through = func(to string) string {
		if to == f.all[1].Self().Addr {
			return addr
		}
		return to
	}
	p.Refresh(t.Context())
	if p.IsConnectedTo(other) { // it begins to connect
		t.Fatal("it was connected before")
	}
	if err := <-refused; err == nil || !strings.Contains(err.Error(), "bad certificate") {
		t.Errorf("another's certificate: got %v", err)
	}
	if p.IsConnectedTo(other) {
		t.Error("it is connected to an impostor")
	}
}

// impostor listens with a certificate that no heartbeat names, and tells how the first process that connects likes it.
func impostor(t *testing.T, certificate tls.Certificate) (addr string, result <-chan error) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	handshakes := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			handshakes <- err
			return
		}
		defer func() { _ = conn.Close() }()
		handshakes <- tls.Server(conn, &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert,
			NextProtos: []string{"h2"},
		}).HandshakeContext(t.Context())
	}()
	return listener.Addr().String(), handshakes
}

// Strangers occupy no connection for long, and cause few reads.
func TestPeers_KeepStrangersShort(t *testing.T) {
	t.Parallel()
	f := newIdleFleet(t, 1, nil)
	reads := f.reads.Load()
	addr := f.all[0].Self().Addr
	silent, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	began := time.Now()
	const strangers = 12
	refused := make(chan error, strangers)
	for range strangers {
		stranger, err := peers.NewCertificate()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := (&tls.Dialer{Config: &tls.Config{
				InsecureSkipVerify: true, Certificates: []tls.Certificate{stranger}, NextProtos: []string{"h2"},
			}}).DialContext(t.Context(), "tcp", addr)
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
				_ = conn.Close()
			}
			refused <- err
		}()
	}
	for range strangers {
		if err := <-refused; err == nil {
			t.Error("a stranger was accepted")
		}
	}
	if n, d := f.reads.Load()-reads, time.Since(began); n > 2+int64(d/(100*time.Millisecond)) {
		t.Errorf("%d reads in %v", n, d)
	}
	_ = silent.SetReadDeadline(clock.Deadline(15 * time.Second))
	if _, err := silent.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a silent connection is open after %v: %v", time.Since(began), err)
	}
}
