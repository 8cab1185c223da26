package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/config"
)

const (
	// consolePrefix begins the IDs of the console's requests.
	consolePrefix = "console-"
	// auditTimeout bounds the write of an entry, which a request waits for after it was handled.
	auditTimeout = 2 * time.Second
)

type auditFilter struct {
	PageQuery
	FilterQuery
	Actor    string `query:"actor" maxLength:"200" doc:"The name of a key."`
	TargetID string `query:"targetId" pattern:"^[0-9a-fA-F]{24}$" doc:"Of an event, a lock or another resource that the path names."`
}

type auditBody struct {
	ID        string `json:"id"`
	At        string `json:"at" format:"date-time" doc:"By the clock of the process that answered."`
	Actor     string `json:"actor,omitempty" doc:"The name of the key. Absent without keys."`
	RequestID string `json:"requestId"`
	Method    string `json:"method"`
	Path      string `json:"path" doc:"The beginning of a long one."`
	TargetID  string `json:"targetId,omitempty" doc:"The first ID in the path."`
	Body      string `json:"body,omitempty" doc:"The beginning of the request's body."`
	Status    int    `json:"status" doc:"Of the answer. 0: the request failed before there was one."`
}

func newAuditBody(e audit.Entry) auditBody {
	return auditBody{
		ID: e.ID.String(), At: formatTime(e.At), Actor: e.Actor, RequestID: e.RequestID, Method: e.Method, Path: e.Path,
		TargetID: formatID(e.TargetID), Body: e.Body, Status: e.Status,
	}
}

func (a *api) registerAuditRoutes() {
	route(a, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/api/admin/audit", Tags: []string{"Operators"},
		Summary: "List what was done in the console, and to webhooks",
		Description: "Newest first, for a year: the requests of the console that may change something, and those of any program that " +
			"may change a webhook, with the key and the answer, also refused ones. " +
			"The console's requests are those of a key with the scope admin whose X-Request-Id begins with console-. " +
			"A request that was refused before the server took it up is not listed: with 429 for the rate of its key, with 503 because " +
			"the server was starting or too busy, or for its origin.",
	}, config.ScopeAdmin, func(ctx context.Context, in *auditFilter) (*list[auditBody], error) {
		entries, next, err := a.Audit.List(ctx, audit.Filter{Actor: in.Actor, TargetID: parseID(in.TargetID)}, in.page())
		return newList(entries, next, newAuditBody), err
	})
}

// isAudited reports whether a request is kept: one of the console that may change something, or one of any program that
// may change a webhook, because endpoints have no changes that would tell who did it.
func isAudited(r *http.Request, op *huma.Operation) bool {
	info, storesNothing := requestInfoOf(r.Context()), op.Metadata[metadataStoresNothing] == true
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !storesNothing &&
		info.scope == config.ScopeAdmin && (strings.HasPrefix(info.requestID, consolePrefix) || slices.Contains(op.Tags, webhooksTag))
}

// auditedBodies are the routes whose bodies are kept: what the console changes. Others may have names and addresses of
// people, or references of payments, which the audit does not need.
var auditedBodies = []string{"update-event", "block-seats", "unblock-seats", "create-seating-plan"}

func auditedBody(op *huma.Operation, body []byte) string {
	if slices.Contains(op.Tags, webhooksTag) {
		return audit.BodyOf(withoutSecrets(body))
	}
	if !slices.Contains(auditedBodies, op.OperationID) {
		return ""
	}
	return audit.BodyOf(body)
}

// withoutSecrets is the body of a request for a webhook. Of its URL, which other systems may have given with a password or
// a token, it has what says where deliveries go. What is no JSON may have anything, and is left out.
func withoutSecrets(body []byte) []byte {
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return nil
	}
	if of, isThere := fields["url"]; isThere {
		text, _ := of.(string)
		fields["url"] = publicURL(text)
	}
	kept, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return kept
}

func publicURL(text string) string {
	const hidden = "…"
	u, err := url.Parse(text)
	if err != nil {
		return hidden
	}
	public := u.Scheme + "://"
	if u.User != nil {
		public += hidden + "@"
	}
	public += u.Host + u.EscapedPath()
	if u.RawQuery != "" {
		public += "?" + hidden
	}
	return public
}

// audit keeps a request that was answered. Its client may have left. What was done is done, so an entry that can't be
// written is a line of the log.
func (a *api) audit(r *http.Request, w http.ResponseWriter, body string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTimeout)
	defer cancel()
	info := requestInfoOf(ctx)
	e := audit.Entry{At: a.Clock(), Actor: info.key, RequestID: info.requestID, Method: r.Method, Path: r.URL.Path, Body: body}
	if recorder, ok := w.(*statusRecorder); ok {
		e.Status = recorder.status
	}
	if err := a.Audit.Add(ctx, e); err != nil {
		a.Log.ErrorContext(ctx, "Could not keep a request of the console for the audit", slog.String("requestId", e.RequestID),
			slog.String("key", e.Actor), slog.String("method", e.Method), slog.String("path", e.Path), slog.Int("status", e.Status),
			slog.Any("error", errors.Unwrap(err)))
	}
}
