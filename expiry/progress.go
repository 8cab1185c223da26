package expiry

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Report counts the documents of a run.
type Report struct {
	Found         int   // documents that are due
	Applied       int   // documents that the run ended
	Skipped       int   // documents that were set aside, are sold, or were ended by another process meanwhile
	Errors        int   // documents that are left for the next run
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
	logged    int                  // number of documents that were logged one by one
	failures  int                  // number of groups that failed in a row
	lastEvent holdfast.ID          // the event of the last transaction
	rejected  map[holdfast.ID]bool // events whose changes MongoDB rejects
	extras    int                  // ended locks that are not in the page
	tried     map[store.After]bool // documents of the page that the run is done with
	cause     string               // of the documents that were last set aside
}

// beginPass makes the run try again what its last pass has set aside.
func (p *progress) beginPass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.rejected)
	p.cause = ""
}

// why says what has kept the last pass from ending documents.
func (p *progress) why() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.cause, "they, or a booking or payment of theirs, are corrupt; seatctl doctor names them")
}

// ended counts the seats of an ended document, and logs the document.
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

// quiet remembers when a run that found nothing was last logged at info.
type quiet struct {
	mu   sync.Mutex
	last map[holdfast.EndedBy]time.Time
}

func (q *quiet) level(by holdfast.EndedBy, now mongodb.Clock) slog.Level {
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

// setAside counts documents that a sweep must not or can't end. cause names one document or event, such as "lock 1".
// It is logged once, not by every run.
func (p *progress) setAside(ctx context.Context, n int, why, cause string, more ...slog.Attr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Skipped += n
	p.cause = cause + ": " + why
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

// These are the reasons why a run sets the documents of an event aside.
const (
	whyMissing  = "the event does not exist"
	whyRejected = "the event can't be changed"
)

func eventCause(event holdfast.ID) string { return "event " + event.String() }

// isKnown reports whether an event's documents were set aside within the last day. Then runs do not count them as
// found again.
func (p *progress) isKnown(event holdfast.ID) bool {
	now := p.sweeper.Pipeline.Store().DB().Clock()()
	return p.sweeper.reported.Knows(finding(eventCause(event), whyMissing), now) ||
		p.sweeper.reported.Knows(finding(eventCause(event), whyRejected), now)
}

// finding is the text under which Reported remembers a cause.
func finding(cause, why string) string { return cause + ": " + why }

// skip counts n documents of an event that was set aside. It returns false if the event was not.
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

// failed counts a group that is left for the next run. It returns how many groups have failed in a row.
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
