package httpapi_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// largeHall is a plan of 40,000 seats, and an event in it all of whose seats are taken.
func (s *site) largeHall() (planPath, seatsPath string) {
	s.t.Helper()
	const seats, blockedAtOnce = 40_000, 10_000
	plan := s.want(s.call("POST", plansPath, hallOf(seats)), 201, "").text("id")
	request := fields{"name": "E", "seatingPlanId": plan, "eventDate": "2030-06-15T20:00:00Z"}
	event := s.want(s.call("POST", "/api/events", request), 201, "").text("id")
	var ids []string
	for _, section := range s.call("GET", plansPath+"/"+plan, nil).body["sections"].([]any) {
		for _, row := range section.(map[string]any)["rows"].([]any) {
			for _, seat := range row.(map[string]any)["seats"].([]any) {
				ids = append(ids, seat.(map[string]any)["id"].(string))
			}
		}
	}
	for ; len(ids) > 0; ids = ids[blockedAtOnce:] {
		s.want(s.call("POST", "/api/events/"+event+"/seats/block", fields{"seatIds": ids[:blockedAtOnce]}), 200, "")
	}
	return plansPath + "/" + plan, "/api/events/" + event + "/seats?format=ids"
}

// withSmallBuffers is the site behind a server whose connections take little that is not read.
func (s *site) withSmallBuffers() *site {
	other := *s
	other.server = httptest.NewUnstartedServer(nil)
	other.server.Config = httpapi.NewServer(s.server.Config.Handler, slog.New(s.w.Log))
	other.server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(4096)
		return ctx
	}
	other.server.Start()
	s.t.Cleanup(other.server.Close)
	return &other
}

// beginToRead sends a request, and reads the first line of the answer, no more.
func (s *site) beginToRead(t *testing.T, path, token string) *rawRequest {
	t.Helper()
	r := s.begin(t, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: "+token+"\r\n\r\n")
	if line, err := r.response.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
		t.Fatal(line, err)
	}
	return r
}

// reads wants a status, and a code unless it is "", without writing a large answer into the log of the test.
func (s *site) reads(path string, status int, code string) {
	s.t.Helper()
	a := s.call("GET", path, nil)
	if a.status != status || code != "" && a.text("code") != code {
		s.t.Errorf("%s: %d %.200s, want %d %s", path, a.status, a.raw, status, code)
	}
	mayBeCached := a.header.Get("ETag")+a.header.Get("Cache-Control") != ""
	if mayBeCached != (status == 200) || (a.header.Get("Retry-After") == "") != (status == 200) {
		s.t.Errorf("%d has %v", status, a.header)
	}
}

// Large answers that are not read take places from their customer alone, until there are too many of all callers.
func TestAnswers_LargeOnesOfACustomer(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{CustomerAnswers: 2, LargeAnswers: 4, AnswerTimeout: time.Minute})
	small, shop := s.withSmallBuffers(), s.as("Bearer s-shop")
	plan, seats := s.as("Bearer s-ops").largeHall()
	token := tokenFor(t, mongodb.NewID().String())
	customer, other := s.as(token), s.as(tokenFor(t, mongodb.NewID().String()))
	first := small.beginToRead(t, plan, token)
	small.beginToRead(t, seats, token)
	for _, path := range []string{plan, seats} {
		customer.reads(path, 429, "TOO_MANY_REQUESTS")
		other.reads(path, 200, "")
		shop.reads(path, 200, "")
		customer.want(customer.call("HEAD", path, nil), 200, "")
	}
	customer.reads(plan+"?section=S1&section=S3", 429, "TOO_MANY_REQUESTS")
	customer.reads(seats+"&section=S7", 200, "")
	customer.reads(strings.TrimSuffix(seats, "?format=ids"), 200, "")

	unread := small.beginToRead(t, plan, "Bearer s-shop")
	small.beginToRead(t, seats, "Bearer s-shop")
	shop.reads(plan, 503, "UNAVAILABLE")
	_ = unread.conn.Close()
	shop.reads(plan, 200, "")
	_ = first.conn.Close()
	testenv.WaitFor(t, func() bool { return customer.call("GET", seats, nil).status == 200 })
}

// An answer that is not read ends in time, and is not whole.
func TestAnswers_UnreadOnesEnd(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{CustomerAnswers: 1, AnswerTimeout: 2 * time.Second})
	plan, seats := s.as("Bearer s-ops").largeHall()
	for _, path := range []string{plan, seats} {
		token, begun := tokenFor(t, mongodb.NewID().String()), time.Now()
		unread := s.withSmallBuffers().beginToRead(t, path, token)
		testenv.WaitFor(t, func() bool { return s.as(token).call("GET", path, nil).status == 200 })
		if took := time.Since(begun); took > streamTimeout { // the server's own timeout would end it after 40 s
			t.Errorf("the answer had its place for %v", took)
		}
		if err := unread.conn.SetReadDeadline(time.Now().Add(streamTimeout)); err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(unread.response); errors.Is(err, os.ErrDeadlineExceeded) || strings.HasSuffix(string(text), "0\r\n\r\n") {
			t.Errorf("the answer of %d bytes ended with %v", len(text), err)
		}
	}
}

// A customer that reads fast gets a number of bytes a second, so that it does not use up the processors.
func TestAnswers_ACustomerThatReadsFastWaits(t *testing.T) {
	t.Parallel()
	s := openWithLimits(t, httpapi.Limits{CustomerAnswers: 1, AnswerRate: 1 << 19})
	ops, shop := s.as("Bearer s-ops"), s.as("Bearer s-shop")
	plan := plansPath + "/" + ops.want(ops.call("POST", plansPath, hallOf(100_000)), 201, "").text("id")
	customer := s.as(tokenFor(t, mongodb.NewID().String()))
	for range 3 {
		shop.reads(plan, 200, "")
	}
	customer.reads(plan, 200, "")
	customer.reads(plan, 429, "TOO_MANY_REQUESTS") // 7 MB have their place for 14 s
	testenv.WaitFor(t, func() bool { return customer.call("GET", plan, nil).status == 200 })
}
