package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/jobs"
)

// runPatience is how long a request waits for the run that it asked for; the
// answer is then 202, and the run goes on.
const runPatience = 25 * time.Second

type runBody struct {
	ID         string `json:"id" doc:"The correlation ID, which every log line and document of the run carries."`
	Job        string `json:"job"`
	Pod        string `json:"pod" doc:"The process that runs it: <pod>/<pid>/<random>."`
	Trigger    string `json:"trigger" enum:"schedule,manual,startup"`
	StartedAt  string `json:"startedAt" format:"date-time"`
	FinishedAt string `json:"finishedAt,omitempty" format:"date-time"`
	Outcome    string `json:"outcome" enum:"running,completed,failed"`
	Reason     string `json:"reason,omitempty" doc:"Why it failed."`

	Found         int   `json:"found" doc:"Documents that were due."`
	Applied       int   `json:"applied" doc:"Documents that the run ended or removed."`
	Skipped       int   `json:"skipped" doc:"Documents set aside, or ended by others meanwhile."`
	Errors        int   `json:"errors" doc:"Documents left for the next run."`
	SeatsRestored int64 `json:"seatsRestored"`

	Contended int `json:"contended" doc:"How often another process wanted to run the job meanwhile."`
}

var runType = reflect.TypeFor[runBody]()

func shapeRun(r jobs.Record) runBody {
	return runBody{r.ID, r.Job, r.Pod, string(r.Trigger), stamp(r.StartedAt), stamp(r.FinishedAt), string(r.Outcome), r.Reason,
		r.Found, r.Applied, r.Skipped, r.Errors, r.SeatsRestored, r.Contended}
}

type leaseBody struct {
	Name      string `json:"name" example:"locks:holdfast:lock-expiry"`
	State     string `json:"state" enum:"free,held,unknown" doc:"unknown: the store of leases does not answer."`
	Holder    string `json:"holder,omitempty" doc:"<pod>/<pid>/<random>"`
	ExpiresAt string `json:"expiresAt,omitempty" format:"date-time" doc:"When it ends if its holder is not heard of again; absent if it has no end."`
}

func shapeLease(h jobs.Holder) leaseBody {
	state := "free"
	switch {
	case !h.Known:
		state = "unknown"
	case h.Held():
		state = "held"
	}
	return leaseBody{h.Name, state, h.Holder, stamp(h.Until)}
}

type jobBody struct {
	Name        string    `json:"name"`
	Interval    string    `json:"interval" example:"1m0s" doc:"Empty: the job is not scheduled."`
	MaxDuration string    `json:"maxDuration" example:"5m0s" doc:"A run past it is cancelled and counts as failed."`
	LastRun     *runBody  `json:"lastRun,omitempty" doc:"Absent if it never ran, or long ago."`
	Lease       leaseBody `json:"lease" doc:"Who runs the job at present."`
	Leader      leaseBody `json:"leader" doc:"Who schedules the jobs at present; the same for each."`
}

func shapeJob(s jobs.State, leader jobs.Holder) jobBody {
	b := jobBody{Name: s.Name, MaxDuration: s.MaxDuration.String(), Lease: shapeLease(s.Lease), Leader: shapeLease(leader)}
	if s.Interval > 0 {
		b.Interval = s.Interval.String()
	}
	if s.Last != nil {
		last := shapeRun(*s.Last)
		b.LastRun = &last
	}
	return b
}

// JobPath is the job in a path.
type JobPath struct {
	Job string `path:"job" maxLength:"64" example:"lock-expiry"`
}

type runsQuery struct {
	JobPath
	PageSize  int    `query:"pageSize" minimum:"1" maximum:"500" default:"50" doc:"Items at most."`
	PageToken string `query:"pageToken" maxLength:"200" doc:"nextPageToken of the page before."`
}

type ranBody struct {
	Status int
	Body   runBody
}

type freedBody struct {
	Lease leaseBody `json:"lease" doc:"The lease as it is now."`
	Freed bool      `json:"freed" doc:"Whether anybody held it."`
	From  string    `json:"from,omitempty" doc:"Who held it."`
}

func (a *api) jobRoutes() {
	tags := []string{"Jobs"}
	route(a, huma.Operation{
		OperationID: "list-jobs", Method: http.MethodGet, Path: "/api/admin/jobs", Tags: tags, Summary: "List the jobs",
		Description: "Each job with its interval, its last run, who runs it at present, and who schedules.",
	}, config.ScopeAdmin, func(ctx context.Context, _ *struct{}) (*list[jobBody], error) {
		states, leader, err := a.Jobs.States(ctx)
		return listOf(states, "", func(s jobs.State) jobBody { return shapeJob(s, leader) }), err
	})
	route(a, huma.Operation{
		OperationID: "run-job", Method: http.MethodPost, Path: "/api/admin/jobs/{job}/run", Tags: tags, Summary: "Run a job now",
		Description: "Runs the job on this process, under its lease. 202: it still runs after 25 s, and goes on. " +
			"JOB_RUNNING names the holder. A run that failed is a run too: 200, with its outcome.",
		Metadata: map[string]any{timeLimit: runPatience + requestTime},
		Responses: map[string]*huma.Response{
			"202": {Description: "The run goes on.", Content: map[string]*huma.MediaType{"application/json": {
				Schema: a.huma.OpenAPI().Components.Schemas.Schema(runType, true, "")}}},
		},
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeAdmin, func(ctx context.Context, in *JobPath) (*ranBody, error) {
		run, err := a.Jobs.RunNow(ctx, in.Job, runPatience)
		status := http.StatusOK
		if run.Outcome == jobs.Running {
			status = http.StatusAccepted
		}
		return &ranBody{status, shapeRun(run)}, err
	})
	route(a, huma.Operation{
		OperationID: "list-runs", Method: http.MethodGet, Path: "/api/admin/jobs/{job}/runs", Tags: tags, Summary: "List a job's runs, newest first",
		Description: "Runs are kept for 30 days, scheduled ones that found nothing for an hour.",
		Errors:      []int{http.StatusNotFound},
	}, config.ScopeAdmin, func(ctx context.Context, in *runsQuery) (*list[runBody], error) {
		runs, next, err := a.Jobs.Runs(ctx, in.Job, PageQuery{in.PageSize, in.PageToken}.page())
		return listOf(runs, next, shapeRun), err
	})
	route(a, huma.Operation{
		OperationID: "free-lease", Method: http.MethodDelete, Path: "/api/admin/jobs/{job}/lease", Tags: tags, Summary: "Free a stuck lease",
		Description: "Takes the job's lease away from its holder, dead or alive; leader in the job's place takes the leader's. " +
			"A run that lives is cancelled when its process next renews the lease.",
		Errors: []int{http.StatusNotFound},
	}, config.ScopeAdmin, func(ctx context.Context, in *JobPath) (*found[freedBody], error) {
		was, err := a.Jobs.FreeLease(ctx, in.Job)
		return &found[freedBody]{freedBody{leaseBody{Name: was.Name, State: "free"}, was.Held(), was.Holder}}, err
	})
}
