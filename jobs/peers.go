package jobs

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/version"
)

const (
	// processesCollection has a document for each process that shows a heartbeat.
	processesCollection = "processes"
	beatInterval        = time.Second
	beatTTL             = 5 * time.Second // of a heartbeat that is not renewed
	beatTimeout         = time.Second     // of a command
	// peerTimeout is how long a process that starts waits for the next beat of another one.
	peerTimeout  = 5 * time.Second
	peerInterval = 200 * time.Millisecond
	// recentPass is the age of a pass that a process which joins others need not repeat.
	recentPass = time.Minute
)

// Presence is what other processes have to know of a process that carries out commands for them. Without Addr it does not.
type Presence struct {
	Addr        string
	Certificate string // the SHA-256 of its TLS certificate, in hex
	Build       string // different for processes that may decide differently
	Writer      int32  // what events note of it
}

// Beat shows, until ctx ends, that this process is alive and has what the passes of the
// start give, and what presence returns. A beat that fails is repeated with the next one.
func (r *Runner) Beat(ctx context.Context, presence func() Presence) {
	processes := r.History.DB.Collection(processesCollection)
	self := mongodb.Is("_id", r.Holder)
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, beatTimeout)
		_, err := processes.UpdateOne(bounded, self, beat(presence()), options.UpdateOne().SetUpsert(true))
		cancel()
		if err != nil && ctx.Err() == nil {
			r.Log.DebugContext(ctx, "Could not show a heartbeat", errorAttr(err))
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	if _, err := processes.DeleteOne(bounded, self); err != nil { // it expires
		r.Log.DebugContext(ctx, "Could not remove the heartbeat", errorAttr(err))
	}
}

// beat is the update of a heartbeat.
func beat(p Presence) mongo.Pipeline {
	literal := func(value any) bson.D { return bson.D{{Key: "$literal", Value: value}} }
	return mongo.Pipeline{{{Key: "$set", Value: bson.D{
		{Key: "beats", Value: bson.D{{Key: "$add", Value: bson.A{bson.D{{Key: "$ifNull", Value: bson.A{"$beats", int64(0)}}}, int64(1)}}}},
		{Key: "expiresAt", Value: bson.D{{Key: "$add", Value: bson.A{"$$NOW", beatTTL.Milliseconds()}}}},
		{Key: "version", Value: literal(version.String())},
		{Key: "addr", Value: literal(p.Addr)},
		{Key: "certificate", Value: literal(p.Certificate)},
		{Key: "build", Value: literal(p.Build)},
		{Key: "writer", Value: p.Writer},
	}}}}
}

// Process is a process that shows a heartbeat.
type Process struct {
	Holder  string // as in leases
	Version string
	Presence
}

// Processes returns the processes whose heartbeat has not expired. A process of a version
// without heartbeats is not among them, and neither is one that has just started.
func (r *Runner) Processes(ctx context.Context) ([]Process, error) {
	found, err := mongodb.All[struct {
		ID          mongodb.Text  `bson:"_id"`
		Version     mongodb.Text  `bson:"version"`
		Addr        mongodb.Text  `bson:"addr"`
		Certificate mongodb.Text  `bson:"certificate"`
		Build       mongodb.Text  `bson:"build"`
		Writer      mongodb.Whole `bson:"writer"`
	}](ctx, r.History.DB.Collection(processesCollection), mongo.Pipeline{mongodb.Match(mongodb.Ahead("expiresAt")), mongodb.Sort("_id")})
	list := make([]Process, 0, len(found))
	for _, f := range found {
		list = append(list, Process{string(f.ID), string(f.Version), Presence{
			Addr: string(f.Addr), Certificate: string(f.Certificate), Build: string(f.Build),
			Writer: int32(f.Writer.Or(0)), //nolint:gosec // other software's number names no writer
		}})
	}
	return list, mongodb.Translate(err)
}

// peers are the processes with a heartbeat, as this process first saw them.
type peers struct {
	db    *mongodb.DB
	first map[string]int64 // beats by process; nil before the first look
}

// beating reports whether another process has shown a beat since the first look. waiting:
// there is a heartbeat that has not expired, of a process that may be dead. No clock is
// compared: a process that restarts must not take its own former heartbeat for another's.
func (p *peers) beating(ctx context.Context) (alive, waiting bool, err error) {
	type process struct {
		ID    mongodb.Text  `bson:"_id"`
		Beats mongodb.Whole `bson:"beats"`
	}
	found, err := mongodb.All[process](ctx, p.db.Collection(processesCollection), mongo.Pipeline{
		mongodb.Match(mongodb.Ahead("expiresAt"), hasName),
	})
	if err != nil {
		return false, false, mongodb.Translate(err)
	}
	isFirst := p.first == nil
	if isFirst {
		p.first = map[string]int64{}
	}
	for _, f := range found {
		before, known := p.first[string(f.ID)]
		if isFirst {
			p.first[string(f.ID)] = f.Beats.Or(0)
		} else if !known || before != f.Beats.Or(0) {
			return true, true, nil
		}
	}
	return false, len(found) > 0, nil
}

// PassedSince returns a condition for RunAtBoot: whether a pass of the job makes one by this
// process needless. A pass that ended after booted, by the database's clock, does. So does
// one of at most a minute ago while another process shows a heartbeat. A single process
// that restarts always runs its own.
func (r *Runner) PassedSince(job string, booted time.Time) func(context.Context) (bool, error) {
	others := &peers{db: r.History.DB}
	var lookUntil time.Time // zero before the first look
	return func(ctx context.Context) (bool, error) {
		for {
			since, recent, err := r.History.passed(ctx, job, booted)
			if err != nil || since || !recent {
				return since, err
			}
			alive, waiting, err := others.beating(ctx)
			if err != nil || alive {
				return alive, err
			}
			if lookUntil.IsZero() {
				lookUntil = r.Clock().Add(peerTimeout)
			}
			if !waiting || r.Clock().After(lookUntil) {
				return false, nil
			}
			select {
			case <-ctx.Done():
				return false, ctx.Err()
			case <-time.After(peerInterval):
			}
		}
	}
}

// LeftOver reports whether the latest pass of a job left documents over.
func (r *Runner) LeftOver(ctx context.Context, job string) (bool, error) {
	latest, _, err := r.History.latestPass(ctx, job, r.Clock())
	return latest.Errors.Or(0) > 0, err
}
