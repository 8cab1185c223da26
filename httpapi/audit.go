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

	"github.com/holdfast-dev/holdfast/internal/changes"
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
	TargetID string `query:"targetId" pattern:"^[0-9a-fA-F]{24}$" doc:"The ID of an event, a lock or another resource in the path."`
}

type auditBody struct {
	ID        string `json:"id"`
	At        string `json:"at" format:"date-time" doc:"The time by the clock of the process that answered."`
	Actor     string `json:"actor,omitempty" doc:"The name of the key. Absent if the API has no keys."`
	RequestID string `json:"requestId"`
	Method    string `json:"method"`
	Path      string `json:"path" doc:"The path. A long one is cut."`
	TargetID  string `json:"targetId,omitempty" doc:"The first ID in the path."`
	Body      string `json:"body,omitempty" doc:"The beginning of the request's body."`
	Status    int    `json:"status" doc:"The status of the answer. 0 means that the request failed before it was answered."`
}

func newAuditBody(e changes.AuditEntry) auditBody {
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
		entries, next, err := a.Audit.List(ctx, changes.AuditFilter{Actor: in.Actor, TargetID: parseID(in.TargetID)}, in.page())
		return newList(entries, next, newAuditBody), err
	})
}

// isAudited reports whether a request is kept: one of the console that may change something, or one of any program that
// may change a webhook, because changes of endpoints have no change records that would name the actor.
func isAudited(r *http.Request, op *huma.Operation) bool {
	info, storesNothing := requestInfoOf(r.Context()), op.Metadata[metadataStoresNothing] == true
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !storesNothing &&
		info.scope == config.ScopeAdmin && (strings.HasPrefix(info.requestID, consolePrefix) || slices.Contains(op.Tags, webhooksTag))
}

// auditedBodies are the routes whose bodies are kept: what the console changes. Others may have names and addresses of
// people, or references of payments, which the audit does not need.
var auditedBodies = []string{"create-event", "update-event", "block-seats", "unblock-seats", "create-seating-plan"}

func auditedBody(op *huma.Operation, body []byte) string {
	if slices.Contains(op.Tags, webhooksTag) {
		return changes.AuditBody(withoutSecrets(body))
	}
	if !slices.Contains(auditedBodies, op.OperationID) {
		return ""
	}
	return changes.AuditBody(body)
}

// withoutSecrets returns the body of a request for a webhook with the host of its URL alone, because every other part may
// be a password or a token of another system. It leaves a body out that is not JSON: a secret may be anywhere in it.
func withoutSecrets(body []byte) []byte {
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil {
		return nil
	}
	if of, isThere := fields["url"]; isThere {
		text, _ := of.(string)
		u, err := url.Parse(text)
		if fields["url"] = "…"; err == nil && u.Host != "" {
			fields["url"] = u.Host
		}
	}
	kept, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return kept
}

// audit keeps a request that was answered. Its client may have left. What was done is done, so an entry that can't be
// written is a line of the log.
func (a *api) audit(r *http.Request, w http.ResponseWriter, body string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), auditTimeout)
	defer cancel()
	info := requestInfoOf(ctx)
	e := changes.AuditEntry{At: a.Clock(), Actor: info.key, RequestID: info.requestID, Method: r.Method, Path: r.URL.Path, Body: body}
	if recorder, ok := w.(*statusRecorder); ok {
		e.Status = recorder.status
	}
	if err := a.Audit.Add(ctx, e); err != nil {
		a.Log.ErrorContext(ctx, "Could not keep a request of the console for the audit", slog.String("requestId", e.RequestID),
			slog.String("key", e.Actor), slog.String("method", e.Method), slog.String("path", e.Path), slog.Int("status", e.Status),
			slog.Any("error", errors.Unwrap(err)))
	}
}
