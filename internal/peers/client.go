package peers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

var (
	// errNotTaken says that the owner did not take a command, and never will.
	errNotTaken = errors.New("the command was not taken")
	// errLost says that there is no answer of the owner, which may have carried out the command. From now on it does so only in
	// a transaction that has written the event already.
	errLost = errors.New("the command has no answer")
)

// other is another process, and the session in which it carries out this one's commands.
type other struct {
	Peer
	peers   *Peers
	conn    *grpc.ClientConn
	leaving atomic.Bool

	mu      sync.Mutex
	session *session  // nil: there is none yet, or it has ended
	opening bool      // or open
	closed  bool      // for ever
	retryAt time.Time // when the next session may be opened
}

const (
	// pingInterval is how often a session with commands under way asks for a sign of life.
	pingInterval = 500 * time.Millisecond
	// silenceTimeout is how long the owner may say nothing meanwhile. Then this process carries out the commands itself.
	silenceTimeout = 2 * time.Second
	// maxUnsent bounds the messages that wait to be sent. If there are more, this process carries out commands itself.
	maxUnsent = 1024
	// reopenDelay is how long no session is opened after one could not be opened, or after one ended.
	reopenDelay, reopenDelayAfterEnd = 200 * time.Millisecond, time.Second
)

// newOther does not connect: the first command does.
func (p *Peers) newOther(peer Peer) (*other, error) {
	conn, err := grpc.NewClient("passthrough:///"+peer.Addr,
		grpc.WithTransportCredentials(credentials.NewTLS(connectTo(p.certificate, peer.Certificate))),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{})),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: reopenDelay, Multiplier: 2, MaxDelay: silenceTimeout}, MinConnectTimeout: silenceTimeout,
		}),
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
	)
	if err != nil {
		return nil, err
	}
	return &other{Peer: peer, peers: p, conn: conn}, nil
}

// retire sends no more commands. The connection ends once those under way are answered.
func (o *other) retire() {
	o.leaving.Store(true)
	o.mu.Lock()
	isIdle := o.session == nil
	o.mu.Unlock()
	if isIdle {
		o.close()
	}
}

// close ends the connection, and no other one is opened. Commands under way are lost.
func (o *other) close() {
	o.leaving.Store(true)
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	_ = o.conn.Close() // fails only if it is closed
}

// current returns the session; nil if there is none yet. It then begins to open one.
func (o *other) current() *session {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.session == nil && !o.opening && !o.closed && !o.peers.o.Clock().Before(o.retryAt) {
		o.opening = true
		o.peers.sessions.Go(o.open)
	}
	return o.session
}

// open opens a session, and keeps it until it ends.
func (o *other) open() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	timer := time.AfterFunc(silenceTimeout, cancel)
	s, err := o.handshake(ctx)
	if !timer.Stop() || err != nil {
		o.setSession(nil, reopenDelay)
		return
	}
	o.setSession(s, 0)
	s.run(cancel)
	o.setSession(nil, reopenDelayAfterEnd)
	s.fail()
	if o.leaving.Load() {
		o.close()
	}
}

// setSession sets the session that was opened; nil: there is none, and none is opened for a while.
func (o *other) setSession(s *session, pause time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.session, o.opening = s, s != nil
	o.retryAt = o.peers.o.Clock().Add(pause)
}

// handshake connects and opens a stream. The owner's first message says that it accepts this process.
func (o *other) handshake(ctx context.Context) (*session, error) {
	stream, err := o.conn.NewStream(ctx, &streamDesc, streamMethod, grpc.WaitForReady(true))
	if err != nil {
		return nil, err
	}
	if err := stream.RecvMsg(&envelope[toClient]{}); err != nil {
		return nil, err
	}
	s := newSession(o.peers.onAbandoned, o.peers.o.Clock)
	s.stream, s.isLeaving = stream, o.leaving.Load
	return s, nil
}

// carryOut sends a command and waits for its answer. Its errors are errNotTaken, errLost, and
// groupcommit.ErrInFlight if ctx ends.
func (o *other) carryOut(ctx context.Context, q *request) (*reply, error) {
	s := o.current()
	if s == nil {
		return nil, errNotTaken
	}
	answer, err := s.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	if answer.Leaving {
		o.leaving.Store(true)
	}
	if answer.NotTaken {
		return nil, errNotTaken
	}
	return answer, nil
}

// session is a stream of commands and their answers.
type session struct {
	stream grpc.ClientStream
	// onAbandoned is told the result of a command whose caller has given up; its error is errLost if there is none.
	onAbandoned func(*request, inventory.Result)
	now         clock.Clock
	// isLeaving reports whether the session ends once it is idle.
	isLeaving func() bool
	out       chan toOwner
	pings     chan struct{} // to be sent; of one
	failed    chan struct{} // closed when the session has ended

	mu       sync.Mutex
	pending  map[int64]*pendingCommand
	last     int64     // ID of a command
	heard    time.Time // when the owner's last message arrived
	hasEnded bool
}

func newSession(onAbandoned func(*request, inventory.Result), now clock.Clock) *session {
	return &session{
		onAbandoned: onAbandoned, now: now, out: make(chan toOwner, maxUnsent), pings: make(chan struct{}, 1),
		failed: make(chan struct{}), pending: map[int64]*pendingCommand{}, heard: now(),
	}
}

// pendingCommand is a command without an answer.
type pendingCommand struct {
	request *request
	answer  chan *reply // of one
	gaveUp  bool        // its caller
}

// run serves the session until it ends.
func (s *session) run(end func()) {
	var others sync.WaitGroup
	defer others.Wait()
	defer end()
	others.Go(func() { s.send(end) })
	others.Go(func() { s.watch(end) })
	for {
		var e envelope[toClient]
		if err := s.stream.RecvMsg(&e); err != nil {
			return
		}
		s.hear()
		for _, m := range e.Messages {
			switch {
			case m.Reply != nil:
				s.deliver(m.ID, m.Reply)
			case m.Question != nil:
				waiting := s.waiting(m.Question)
				select {
				case s.out <- toOwner{ID: m.ID, Waiting: &waiting}:
				case <-s.stream.Context().Done():
				}
			}
		}
	}
}

// send sends what is to be sent.
func (s *session) send(end func()) {
	defer end()
	for {
		e := &envelope[toOwner]{} // a ping
		select {
		case m := <-s.out:
			e = seal(m, s.out)
		case <-s.pings:
		case <-s.stream.Context().Done():
			return
		}
		if s.stream.SendMsg(e) != nil {
			return
		}
	}
}

// watch ends the session if the owner says nothing although commands are under way, even if nothing can be sent any more.
func (s *session) watch(end func()) {
	defer end()
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.stream.Context().Done():
			return
		}
		switch {
		case !s.isBusy() && s.isLeaving():
			return
		case !s.isBusy():
			s.hear() // nothing is to be heard
		case s.silence() > silenceTimeout:
			return
		default:
			select {
			case s.pings <- struct{}{}:
			default: // one is to be sent already
			}
		}
	}
}

// hear notes a sign of life.
func (s *session) hear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = s.now()
}

// silence is the time since the last sign of life.
func (s *session) silence() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.Since(s.heard)
}

// isBusy reports whether commands are under way.
func (s *session) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) > 0
}

// add notes a command; ok is false if the session has ended.
func (s *session) add(c *pendingCommand) (id int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasEnded {
		return 0, false
	}
	s.last++
	s.pending[s.last] = c
	return s.last, true
}

// ask sends a command and waits for its answer; see other.carryOut.
func (s *session) ask(ctx context.Context, q *request) (*reply, error) {
	c := &pendingCommand{request: q, answer: make(chan *reply, 1)}
	id, ok := s.add(c)
	if !ok {
		return nil, errNotTaken
	}
	select {
	case s.out <- toOwner{ID: id, Command: q}:
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pending, id)
		return nil, errNotTaken
	}
	select {
	case answer := <-c.answer:
		return answer, nil
	case <-s.failed:
	case <-ctx.Done():
		if s.giveUp(id, c) {
			return nil, fmt.Errorf("%w: %w", groupcommit.ErrInFlight, ctx.Err())
		}
	}
	select {
	case answer := <-c.answer:
		return answer, nil
	default:
		return nil, errLost
	}
}

// giveUp notes that a caller waits no longer, and tells the owner; false if the command is answered or lost.
func (s *session) giveUp(id int64, c *pendingCommand) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasEnded || len(c.answer) > 0 {
		return false
	}
	c.gaveUp = true
	select {
	case s.out <- toOwner{ID: id, GaveUp: true}:
	default: // the owner asks before it commits
	}
	return true
}

// waiting are those of the commands whose callers still wait.
func (s *session) waiting(commands []int64) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := make([]int64, 0, len(commands))
	for _, id := range commands {
		if c := s.pending[id]; c != nil && !c.gaveUp {
			waiting = append(waiting, id)
		}
	}
	return waiting
}

// deliver answers a caller.
func (s *session) deliver(id int64, answer *reply) {
	s.mu.Lock()
	c := s.pending[id]
	delete(s.pending, id)
	isAbandoned := c != nil && c.gaveUp
	if c != nil && !isAbandoned {
		c.answer <- answer
	}
	s.mu.Unlock()
	if isAbandoned && !answer.NotTaken {
		result, _ := answer.result()
		s.onAbandoned(c.request, result)
	}
}

// fail tells the callers that there will be no answer.
func (s *session) fail() {
	s.mu.Lock()
	s.hasEnded = true
	unanswered := s.pending
	s.pending = nil
	s.mu.Unlock()
	close(s.failed)
	for _, c := range unanswered {
		if c.gaveUp {
			s.onAbandoned(c.request, inventory.Result{Err: errLost})
		}
	}
}
