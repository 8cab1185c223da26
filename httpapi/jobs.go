package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/jobs"
)

// runWaitTimeout is how long a request waits for the run that it started. After
// that the answer is 202, and the run continues.
const runWaitTimeout = 25 * time.Second

type runBody struct {
	ID         string `json:"id" doc:"The correlation ID: it is in every log line and document of the run."`
	Job        string `json:"job"`
	Pod        string `json:"pod" doc:"The process that runs the job: <pod>/<pid>/<random>."`
	Trigger    string `json:"trigger" enum:"schedule,manual,startup"`
	StartedAt  string `json:"startedAt" format:"date-time"`
	FinishedAt string `json:"finishedAt,omitempty" format:"date-time"`
	Outcome    string `json:"outcome" enum:"running,completed,failed"`
	Reason     string `json:"reason,omitempty" doc:"Why the run failed."`

	Found         int   `json:"found" doc:"Number of due documents."`
	Applied       int   `json:"applied" doc:"Number of documents that the run changed or removed."`
	Skipped       int   `json:"skipped" doc:"Number of documents that can't be processed, or that changed during the run."`
	Errors        int   `json:"errors" doc:"Number of documents that are left for the next run."`
	SeatsRestored int64 `json:"seatsRestored"`

	Contended int `json:"contended" doc:"Attempts to start the job during the run."`
}

func newRunBody(r jobs.Record) runBody {
	return runBody{
		ID:            r.ID,
		Job:           r.Job,
		Pod:           r.Pod,
		Trigger:       string(r.Trigger),
		StartedAt:     formatTime(r.StartedAt),
		FinishedAt:    formatTime(r.FinishedAt),
		Outcome:       string(r.Outcome),
		Reason:        r.Reason,
		Found:         r.Found,
		Applied:       r.Applied,
		Skipped:       r.Skipped,
		Errors:        r.Errors,
		SeatsRestored: r.SeatsRestored,
		Contended:     r.Contended,
	}
}

type leaseBody struct {
	Name      string `json:"name" example:"locks:holdfast:lock-expiry"`
	State     string `json:"state" enum:"free,held,unknown" doc:"unknown means that the lease store does not answer, or refuses."`
	Holder    string `json:"holder,omitempty" doc:"<pod>/<pid>/<random>"`
	ExpiresAt string `json:"expiresAt,omitempty" format:"date-time" doc:"When the lease ends unless it is renewed. Absent if it has no end."`
}

func newLeaseBody(h jobs.LeaseState) leaseBody {
	state := "free"
	switch {
	case !h.Known:
		state = "unknown"
	case h.Held():
		state = "held"
	}
	return leaseBody{Name: h.Name, State: state, Holder: h.Holder, ExpiresAt: formatTime(h.Until)}
}

type jobBody struct {
	Name        string    `json:"name"`
	Interval    string    `json:"interval" example:"1m0s" doc:"Empty if the job is not scheduled."`
	MaxDuration string    `json:"maxDuration" example:"5m0s" doc:"A run that takes longer is cancelled and counts as failed."`
	LastRun     *runBody  `json:"lastRun,omitempty" doc:"Absent if no run is stored."`
	Lease       leaseBody `json:"lease" doc:"The process that runs the job now."`
	Leader      leaseBody `json:"leader" doc:"The process that schedules all jobs now."`
}

func newJobBody(s jobs.State, leader jobs.LeaseState) jobBody {
	b := jobBody{
		Name:        s.Name,
		MaxDuration: s.MaxDuration.String(),
		Lease:       newLeaseBody(s.Lease),
		Leader:      newLeaseBody(leader),
	}
	if s.Interval > 0 {
		b.Interval = s.Interval.String()
	}
	if s.Last != nil {
		b.LastRun = new(newRunBody(*s.Last))
	}
	return b
}

// JobPath is the name of a job in a path.
type JobPath struct {
	Job string `path:"job" maxLength:"64" example:"lock-expiry"`
}

type runsQuery struct {
	JobPath
	PageSize  int    `query:"pageSize" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of items."`
	PageToken string `query:"pageToken" maxLength:"200" doc:"nextPageToken of the previous page."`
}

type runAnswer struct {
	Status int
	Body   runBody
}

type freedLeaseBody struct {
	Lease leaseBody `json:"lease" doc:"The lease after the request."`
	Freed bool      `json:"freed" doc:"Whether a process held the lease."`
	From  string    `json:"from,omitempty" doc:"The process that held the lease."`
}

func (a *api) registerJobRoutes() {
	tags := []string{"Jobs"}
	route(a, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/api/admin/jobs", Tags: tags, Summary: "List jobs",
		Description: "Each job with its interval, its last run, its lease and the leader that schedules the jobs.",
	}, config.ScopeAdmin, func(ctx context.Context, _ *struct{}) (*list[jobBody], error) {
		states, leader, err := a.Jobs.States(ctx)
		return newList(states, "", func(s jobs.State) jobBody { return newJobBody(s, leader) }), err
	})
	route(a, huma.Operation{
		OperationID: "run-job", Method: http.MethodPost, Path: "/api/admin/jobs/{job}/run", Tags: tags, Summary: "Run a job now",
		Description: "Runs the job in this process, under the job's lease. A run that takes longer than 25 s continues, and the answer is 202. " +
			"JOB_RUNNING names the process that runs the job. A failed run is answered with 200 and the outcome failed.",
		Metadata:  map[string]any{metadataTimeout: runWaitTimeout + requestTimeout},
		Responses: otherSuccess[runBody](a.huma.OpenAPI().Components.Schemas, http.StatusAccepted, "The run continues."),
		Errors:    []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeAdmin, func(ctx context.Context, in *JobPath) (*runAnswer, error) {
		run, err := a.Jobs.RunNow(ctx, in.Job, runWaitTimeout)
		status := http.StatusOK
		if run.Outcome == jobs.Running {
			status = http.StatusAccepted
		}
		return &runAnswer{Status: status, Body: newRunBody(run)}, err
	})
	route(a, huma.Operation{
		OperationID: "list-runs", Method: http.MethodGet, Path: "/api/admin/jobs/{job}/runs", Tags: tags,
		Summary:     "List the runs of a job",
		Description: "Newest first. Runs are kept for 30 days; scheduled runs that found nothing are kept for an hour.",
		Errors:      []int{http.StatusNotFound},
	}, config.ScopeAdmin, func(ctx context.Context, in *runsQuery) (*list[runBody], error) {
		runs, next, err := a.Jobs.Runs(ctx, in.Job, PageQuery{PageSize: in.PageSize, PageToken: in.PageToken}.page())
		return newList(runs, next, newRunBody), err
	})
	route(a, huma.Operation{
		OperationID: "free-lease", Method: http.MethodDelete, Path: "/api/admin/jobs/{job}/lease", Tags: tags, Summary: "Free the lease of a job",
		Description: "For a lease that is stuck. Its holder loses it, alive or not, and a run in progress is cancelled at its next renewal. " +
			"The job name leader frees the leader's lease.",
		Errors: []int{http.StatusNotFound},
	}, config.ScopeAdmin, func(ctx context.Context, in *JobPath) (*found[freedLeaseBody], error) {
		before, err := a.Jobs.FreeLease(ctx, in.Job)
		return &found[freedLeaseBody]{Body: freedLeaseBody{
			Lease: leaseBody{Name: before.Name, State: "free"}, Freed: before.Held(), From: before.Holder,
		}}, err
	})
}
