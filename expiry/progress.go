package expiry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Report counts the documents of a run.
type Report struct {
	Found         int   // documents due
	Applied       int   // ended
	Skipped       int   // set aside, sold, or ended by another process meanwhile
	Errors        int   // left for the next run
	SeatsRestored int64 // to events
}

// Add sums two reports.
func (r Report) Add(o Report) Report {
	return Report{
		Found: r.Found + o.Found, Applied: r.Applied + o.Applied, Skipped: r.Skipped + o.Skipped,
		Errors: r.Errors + o.Errors, SeatsRestored: r.SeatsRestored + o.SeatsRestored,
	}
}

// maxInfoLines is how many documents a run logs at level info; it logs the rest at debug.
const maxInfoLines = 100

// progress is the state of a run.
type progress struct {
	Run
	sweeper *Sweeper
	lines   lines

	mu        sync.Mutex // guards the fields below
	report    Report
	logged    int                  // single documents
	failures  int                  // in a row
	lastEvent holdfast.ID          // of the last transaction
	rejected  map[holdfast.ID]bool // events whose changes MongoDB rejects
	extras    int                  // ended locks that are not in the page
	tried     map[store.After]bool // documents of the page that the run is done with
}

// ended counts the seats of an ended document, and logs it.
func (p *progress) ended(ctx context.Context, e inventory.Ended, event holdfast.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.SeatsRestored += e.Seats
	level := slog.LevelInfo
	if p.logged++; p.logged > maxInfoLines {
		level = slog.LevelDebug
	}
	p.Log.Log(ctx, level, p.lines.ended(e, event))
}

// consumed logs due locks that were sold: other software had crashed before it marked them.
func (p *progress) consumed(ctx context.Context, lockIDs []holdfast.ID) {
	for _, id := range lockIDs {
		p.Log.WarnContext(ctx, "Consumed the due lock of a CONFIRMED booking", slog.Any("lockId", id))
	}
}

func (p *progress) found(ctx context.Context, n int) {
	if n > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.report.Found += n
		p.Log.InfoContext(ctx, p.lines.found(n), slog.Int("found", n))
	}
}

func (p *progress) success(ctx context.Context) {
	if p.lines.success != nil {
		r, level := p.report, slog.LevelInfo
		if r.Found+r.Applied+r.Errors == 0 {
			level = p.sweeper.quiet.level(p.By, p.sweeper.Pipeline.Store().DB().Clock())
		}
		p.Log.Log(ctx, level, p.lines.success(r.Applied), slog.Int("found", r.Found), slog.Int("applied", r.Applied),
			slog.Int("skipped", r.Skipped), slog.Int("errors", r.Errors), slog.Int64("seatsRestored", r.SeatsRestored))
	}
}

// quietInterval is the time between two lines at info of runs that found nothing.
const quietInterval = time.Hour

// quiet keeps when a run that found nothing was last logged at info.
type quiet struct {
	mu   sync.Mutex
	last map[holdfast.EndedBy]time.Time
}

func (q *quiet) level(by holdfast.EndedBy, now clock.Clock) slog.Level {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last, logged := q.last[by]; logged && now.Since(last) < quietInterval {
		return slog.LevelDebug
	}
	if q.last == nil {
		q.last = map[holdfast.EndedBy]time.Time{}
	}
	q.last[by] = now()
	return slog.LevelInfo
}

// setAside counts documents that a sweep must not or can't end. The cause has a name, such
// as "lock 1". It is logged once, not by every run.
func (p *progress) setAside(ctx context.Context, n int, why, cause string, more ...slog.Attr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Skipped += n
	level := slog.LevelDebug
	if p.sweeper.reported.IsNew(finding(cause, why), p.sweeper.Pipeline.Store().DB().Clock()()) {
		level = slog.LevelWarn
	}
	p.Log.LogAttrs(ctx, level, "Set aside: "+why, append([]slog.Attr{slog.String("document", cause)}, more...)...)
}

// setEventAside makes skip leave out all further documents of the event.
func (p *progress) setEventAside(event holdfast.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rejected == nil {
		p.rejected = map[holdfast.ID]bool{}
	}
	p.rejected[event] = true
	p.failures = 0
}

// Why a run sets an event's documents aside.
const (
	whyMissing  = "there is no such event"
	whyRejected = "MongoDB rejects every change of the event"
	// whyRejectedDocument is why a run sets a single document aside.
	whyRejectedDocument = "MongoDB rejects its change"
)

func eventCause(event holdfast.ID) string { return "event " + event.String() }

// isKnown reports whether an event's documents were set aside within the last day. They are not
// found again by every run.
func (p *progress) isKnown(event holdfast.ID) bool {
	now := p.sweeper.Pipeline.Store().DB().Clock()()
	return p.sweeper.reported.Knows(finding(eventCause(event), whyMissing), now) ||
		p.sweeper.reported.Knows(finding(eventCause(event), whyRejected), now)
}

// isRejected reports whether a single document was set aside within the last day.
func (p *progress) isRejected(d document) bool {
	return p.sweeper.reported.Knows(finding(d.Name(), whyRejectedDocument), p.sweeper.Pipeline.Store().DB().Clock()())
}

// finding is the text by which a cause is remembered.
func finding(cause, why string) string { return cause + ": " + why }

// skip counts n documents of an event that was set aside. It reports whether it was.
func (p *progress) skip(event holdfast.ID, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.rejected[event] {
		return false
	}
	p.report.Skipped += n
	return true
}

// applied counts a transaction that ended some documents of a group. It reports whether
// the last transaction was of the same event.
func (p *progress) applied(event holdfast.ID, ended, of int) (sameEvent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = 0
	p.report.Applied += ended
	p.report.Skipped += of - ended
	sameEvent = event == p.lastEvent
	p.lastEvent = event
	return sameEvent
}

// failed counts a group that is left to the next run. It returns how many groups failed in
// a row.
func (p *progress) failed(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Errors += n
	p.failures++
	return p.failures
}

// extra counts ended locks that are not in the page.
func (p *progress) extra(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.extras += n
	p.report.Applied += n
}

func (p *progress) takeExtra() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, p.extras = p.extras, 0
	return n
}
