package httpapi_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// The event is CANCELLED at once, and asked again the answer is the same run while it lasts.
func TestCancelEvent_AnswersItsRun(t *testing.T) {
	t.Parallel()
	s := open(t)
	eventID := s.event(5)
	run := s.want(s.call("POST", "/api/admin/events/"+eventID+"/cancel", nil), 202, "")
	if run.text("job") != "event-cancel" || run.text("outcome") != "running" || run.text("trigger") != "manual" || run.text("id") == "" {
		t.Errorf("the run is %s", run.raw)
	}
	if status := s.want(s.call("GET", "/api/events/"+eventID, nil), 200, "").text("status"); status != "CANCELLED" {
		t.Errorf("the event is %s", status)
	}
	again := s.want(s.call("POST", "/api/admin/events/"+eventID+"/cancel", nil), 202, "")
	if again.text("id") != run.text("id") || again.text("startedAt") != run.text("startedAt") {
		t.Errorf("asked again, the run is %s, before it was %s", again.raw, run.raw)
	}
	if summary := s.want(s.call("GET", "/api/admin/events/"+eventID, nil), 200, ""); summary.text("cancelRunId") != run.text("id") {
		t.Errorf("the summary of the event is %s", summary.raw)
	}
	other := s.event(5)
	s.want(s.call("PATCH", "/api/events/"+other, fields{"status": "CANCELLED"}), 200, "")
	if summary := s.want(s.call("GET", "/api/admin/events/"+other, nil), 200, ""); strings.Contains(summary.raw, "cancelRunId") {
		t.Errorf("the summary of an event with the status alone is %s", summary.raw)
	}
	s.want(s.call("POST", "/api/admin/events/"+mongodb.NewID().String()+"/cancel", nil), 404, "EVENT_NOT_FOUND")
	s.want(s.call("POST", "/api/admin/events/x/cancel", nil), 422, "VALIDATION_FAILED")
}
