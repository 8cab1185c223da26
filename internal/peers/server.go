package peers

import (
	"context"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	serviceName  = "holdfast.Peers"
	streamName   = "Commands"
	streamMethod = "/" + serviceName + "/" + streamName
	// handshakeTimeout bounds the time until a process has shown that it is one.
	handshakeTimeout = 5 * time.Second
	// keepaliveInterval is how long a connection may be quiet before this process asks for a sign of life.
	keepaliveInterval = 5 * time.Second
	// unknownPeerInterval is how often a process that is not listed makes this one read the list, at most. The others wait.
	unknownPeerInterval = 100 * time.Millisecond
	// maxPeers bounds the connections.
	maxPeers = 1000
)

var streamDesc = grpc.StreamDesc{StreamName: streamName, ServerStreams: true, ClientStreams: true, Handler: streamHandler}

// serve accepts commands of other processes in the background.
func (p *Peers) serve(listener net.Listener) *grpc.Server {
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(acceptPeers(p.certificate, p.isPeer))),
		grpc.ForceServerCodec(codec{}), grpc.ConnectionTimeout(handshakeTimeout), grpc.MaxConcurrentStreams(1),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveInterval, Timeout: silenceTimeout}),
	)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName, HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{streamDesc},
	}, p)
	go func() {
		if err := server.Serve(netutil.LimitListener(listener, maxPeers)); err != nil {
			p.o.Log.Error("Other processes can't reach this one any more", slog.Any("error", err))
		}
	}()
	return server
}

// isPeer reports whether a certificate is of a process that shows a heartbeat. It may have started a moment ago.
func (p *Peers) isPeer(certificate string) bool {
	isListed := func() bool {
		return slices.ContainsFunc(*p.others.Load(), func(o *other) bool { return o.Certificate == certificate })
	}
	if isListed() {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if p.unknownPeers.Wait(ctx) != nil || p.stopped.Load() {
		return false
	}
	if isListed() {
		return true
	}
	p.Refresh(ctx)
	return isListed()
}

func streamHandler(service any, stream grpc.ServerStream) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	c := newClient(service.(*Peers), ctx.Done(), cancel)
	c.stream = stream
	go c.receive()
	c.serve()
	return nil
}

// client is another process that has commands carried out here.
type client struct {
	peers  *Peers
	stream grpc.ServerStream
	out    chan toClient
	pings  chan struct{} // that are to be answered; of one
	ended  <-chan struct{}
	end    func()

	mu        sync.Mutex
	questions map[int64]chan []int64 // that have no answer
	last      int64                  // ID of a question
	cancels   map[int64]func()       // of commands under way
}

func newClient(p *Peers, ended <-chan struct{}, end func()) *client {
	return &client{
		peers: p, out: make(chan toClient, maxUnsent), pings: make(chan struct{}, 1), ended: ended, end: end,
		questions: map[int64]chan []int64{}, cancels: map[int64]func(){},
	}
}

// serve sends what is to be sent, until the session ends.
func (c *client) serve() {
	e := &envelope[toClient]{} // the process is accepted
	for c.stream.SendMsg(e) == nil {
		select {
		case m := <-c.out:
			e = seal(m, c.out)
			continue
		default:
		}
		select {
		case m := <-c.out:
			e = seal(m, c.out)
		case <-c.pings:
			e = &envelope[toClient]{}
		case <-c.ended:
			return
		case <-c.peers.closing: // everything is answered
			return
		}
	}
}

// receive carries commands out, until the session ends.
func (c *client) receive() {
	defer c.end()
	for {
		var e envelope[toOwner]
		if c.stream.RecvMsg(&e) != nil {
			return
		}
		for _, m := range e.Messages {
			switch {
			case m.Command != nil:
				c.start(m.ID, m.Command)
			case m.Waiting != nil:
				c.receiveAnswer(m.ID, *m.Waiting)
			case m.GaveUp:
				c.mu.Lock()
				cancel := c.cancels[m.ID]
				c.mu.Unlock()
				if cancel != nil {
					cancel()
				}
			}
		}
		if len(e.Messages) == 0 {
			select {
			case c.pings <- struct{}{}:
			default: // one is to be answered already
			}
		}
	}
}

// start carries a command out in the background.
func (c *client) start(id int64, q *request) {
	// The session's end does not cancel it: its process then carries it out itself, and needs its outcome.
	ctx, cancel := context.WithCancel(context.Background())
	c.mu.Lock()
	c.cancels[id] = cancel
	c.mu.Unlock()
	c.peers.underWay.Add(1)
	go func() {
		defer c.peers.underWay.Add(-1)
		answer := c.carryOut(ctx, id, q)
		cancel()
		c.mu.Lock()
		delete(c.cancels, id)
		c.mu.Unlock()
		select {
		case c.out <- toClient{ID: id, Reply: answer}:
		case <-c.ended:
		}
	}()
}

// carryOut carries out a command.
func (c *client) carryOut(ctx context.Context, id int64, q *request) (answer *reply) {
	p := c.peers
	defer func() {
		if panicked := recover(); panicked != nil {
			p.o.Log.Error("A command of another process panicked", slog.Any("error", panicked), slog.String("stack", string(debug.Stack())))
			answer, _ = replyOf(inventory.Result{}, holdfast.Refuse(holdfast.CodeOutcomeUnknown, "panicked"))
		}
	}()
	command := q.command()
	if command == nil || p.stopped.Load() {
		return &reply{NotTaken: true, Leaving: p.leaving.Load()}
	}
	p.o.Observe.Received()
	isWorthIt := p.routes.noteCommand(q.Event, q.From, p.o.Clock())
	result, err := p.o.Pipeline.SubmitFor(q.context(ctx), q.Event, command, pipeline.Remote{Waiters: c, ID: id})
	if answer, err = replyOf(result, err); err != nil {
		p.o.Log.Error("An answer to another process can't be written", slog.Any("error", err))
		answer, _ = replyOf(inventory.Result{}, holdfast.Refuse(holdfast.CodeOutcomeUnknown, "the answer can't be written"))
	}
	answer.IsWorthIt, answer.Leaving = isWorthIt, p.leaving.Load()
	return answer
}

// waitingTimeout is how long a process may take to say which callers wait. A transaction waits for it.
const waitingTimeout = 500 * time.Millisecond

// Waiting asks which of the commands have callers that still wait. A process that does not say so in time has none: its
// session ends, so that it carries out the commands itself.
func (c *client) Waiting(commands []int64) []int64 {
	answer := make(chan []int64, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.questions[id] = answer
	c.mu.Unlock()
	timer := time.NewTimer(waitingTimeout)
	defer timer.Stop()
	select {
	case c.out <- toClient{ID: id, Question: commands}:
		select {
		case waiting := <-answer:
			return waiting
		case <-c.ended:
		case <-timer.C:
		}
	case <-c.ended:
	case <-timer.C:
	}
	c.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.questions, id)
	return nil
}

func (c *client) receiveAnswer(question int64, waiting []int64) {
	c.mu.Lock()
	answer := c.questions[question]
	delete(c.questions, question)
	c.mu.Unlock()
	if answer != nil {
		answer <- waiting
	}
}
