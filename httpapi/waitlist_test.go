package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// soldOut creates an event with an open waiting list, and sells all of its seats but the free ones to a holder. It returns the locks:
// one for each seat.
func (s *site) soldOut(seats, free int, settings fields) (event string, locks []string) {
	s.t.Helper()
	request := with(fields{"name": "E", "totalSeats": seats, "eventDate": "2030-06-15T10:00:00Z", "waitlist": "OPEN"}, settings)
	event = s.want(s.call("POST", "/api/events", request), 201, "").text("id")
	for range seats - free {
		locks = append(locks, s.lockFor(event, "owner", fields{"seats": 1}).text("id"))
	}
	return event, locks
}

// lockFor locks seats for a holder.
func (s *site) lockFor(event, holder string, wish fields) answer {
	s.t.Helper()
	return s.want(s.call("POST", "/api/locks", with(fields{"eventId": event, "holder": holder}, wish)), 201, "")
}

// join asks for a place on a waiting list.
func (s *site) join(event string, wish fields, headers ...string) answer {
	s.t.Helper()
	return s.call("POST", "/api/events/"+event+"/waitlist", wish, headers...)
}

// waits joins, and returns the ID of the new entry.
func (s *site) waits(event, holder string, seats int) string {
	s.t.Helper()
	return s.want(s.join(event, fields{"holder": holder, "seats": seats}), 201, "").text("id")
}

// entry reads an entry, and fails unless it has the status. A position is 0 if the entry must have none.
func (s *site) entry(id, status string, position int) answer {
	s.t.Helper()
	a := s.want(s.call("GET", "/api/waitlist/"+id, nil), 200, "")
	want := "<nil>"
	if position > 0 {
		want = fmt.Sprint(position)
	}
	if a.text("status") != status || a.text("position") != want {
		s.t.Errorf("the entry is %s, want %s at %s", a.raw, status, want)
	}
	return a
}

// release releases a lock.
func (s *site) release(lock string) { s.want(s.call("DELETE", "/api/locks/"+lock, nil), 200, "") }

// listedEntries are the holders of a list, each with its status.
func (s *site) listedEntries(event, query string, headers ...string) (entries []string) {
	s.t.Helper()
	a := s.want(s.call("GET", "/api/events/"+event+"/waitlist?"+query, nil, headers...), 200, "")
	for _, item := range a.body["items"].([]any) {
		e := item.(map[string]any)
		entries = append(entries, fmt.Sprint(e["holder"], " ", e["status"]))
	}
	return entries
}

func TestWaitlist_AnOfferIsBookedLikeAnyLock(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, locks := s.soldOut(3, 0, fields{"waitlistOfferSeconds": 600})
	wish := fields{"holder": "a", "seats": 2, "reference": "wait-1", "metadata": fields{"mail": "a"}}
	joined := s.want(s.join(event, wish), 201, "")
	id := joined.text("id")
	if joined.header.Get("Location") != "/api/waitlist/"+id || joined.text("position") != "1" || joined.text("status") != "WAITING" ||
		joined.text("holder") != "a" || joined.text("seats") != "2" || joined.text("eventId") != event || joined.body["lockId"] != nil {
		t.Errorf("joined %s %s", joined.header, joined.raw)
	}
	if again := s.want(s.join(event, wish), 200, ""); again.raw != joined.raw || again.header.Get("Location") != "/api/waitlist/"+id {
		t.Errorf("again: %s, first %s", again.raw, joined.raw)
	}
	s.waits(event, "b", 1)
	if e := s.want(s.call("GET", "/api/events/"+event, nil), 200, ""); e.text("waiting") != "2" {
		t.Errorf("the event is %s", e.raw)
	}
	s.release(locks[0]) // it goes to b: SKIP passes over a
	s.entry(id, "WAITING", 1)
	s.release(locks[1])
	s.release(locks[2])
	offered := s.entry(id, "OFFERED", 0)
	lock := s.want(s.call("GET", "/api/locks/"+offered.text("lockId"), nil), 200, "")
	left := time.Until(mustTime(t, lock.text("expiresAt")))
	if lock.text("waitlistEntryId") != id || lock.text("holder") != "a" || lock.text("seats") != "2" || lock.text("reference") != "wait-1" ||
		!strings.Contains(lock.raw, `"metadata":{"mail":"a"}`) || left < 9*time.Minute || left > 11*time.Minute {
		t.Errorf("the offer is %s, and lasts %s", lock.raw, left)
	}
	if got := s.listedEntries(event, ""); !slices.Equal(got, []string{"a OFFERED", "b OFFERED"}) {
		t.Errorf("the list is %v", got)
	}
	report := s.want(s.call("GET", "/api/events/"+event+"/report", nil), 200, "")
	if report.text("offered") != "3" || report.text("waiting") != "0" || report.text("held") != "0" || report.text("available") != "0" {
		t.Errorf("the report is %s", report.raw)
	}
	book := fields{"holder": "a", "lockId": lock.text("id"), "paymentTtlSeconds": 600}
	booking := s.want(s.call("POST", "/api/events/"+event+"/bookings", book), 201, "").text("id")
	s.want(s.confirm(booking, fields{"paymentReference": "p"}), 200, "")
	s.entry(id, "ACCEPTED", 0)
	s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil), 200, "")
	s.entry(id, "ACCEPTED", 0) // final, whatever becomes of the seats
	s.checkInvariants()
}

func mustTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Order of refusals: the one that is above answers.
func TestWaitlist_RefusalsOfJoining(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, _ := s.soldOut(2, 0, fields{"maxSeatsPerUser": 2})
	one, two, three := fields{"holder": "a", "seats": 1}, fields{"holder": "a", "seats": 2}, fields{"holder": "c", "seats": 3}
	s.want(s.join(event, one), 201, "")
	s.want(s.join(event, two), 409, "WAITLIST_ENTRY_EXISTS")
	s.wantInvalid(s.join(event, three), "body.seats") // above the total
	s.want(s.patch(event, fields{"totalSeats": 4}), 200, "")
	s.want(s.join(event, three), 409, "SEAT_LIMIT_REACHED")
	s.want(s.join(event, fields{"holder": "b", "seats": 1}), 409, "SEATS_STILL_AVAILABLE") // a has one of the two new seats
	s.want(s.patch(event, fields{"waitlist": "PAUSED"}), 200, "")
	s.want(s.join(event, fields{"holder": "b", "seats": 2}), 201, "")
	s.want(s.patch(event, fields{"waitlist": "CLOSED"}), 200, "")
	s.want(s.join(event, fields{"holder": "d", "seats": 2}), 409, "WAITLIST_CLOSED")
	s.want(s.join(event, two), 409, "WAITLIST_ENTRY_EXISTS") // an offer stays
	s.want(s.patch(event, fields{"saleEndsAt": "2020-01-01T00:00:00Z"}), 200, "")
	s.want(s.join(event, fields{"holder": "d", "seats": 2}), 409, "EVENT_NOT_ON_SALE")
	s.want(s.join(event, one), 200, "")
	none := "6b0166d19f73b711049e40f1"
	s.want(s.join(none, one), 404, "EVENT_NOT_FOUND")
	s.want(s.join(event, fields{"userId": none, "seats": 1}), 404, "USER_NOT_FOUND")
	s.want(s.call("GET", "/api/events/"+none+"/waitlist", nil), 404, "EVENT_NOT_FOUND")
	s.checkInvariants()
}

// Each end of an entry, and what the two routes answer then.
func TestWaitlist_EndsOfEntries(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, c := range map[string]struct {
		offered bool
		end     func(s *site, event, id string)
		status  string
		decline string // the code, or "" for the same answer
		leave   string
	}{
		"waits":    {end: func(*site, string, string) {}, status: "WAITING", decline: "409 WAITLIST_NOT_OFFERED"},
		"declined": {offered: true, end: func(s *site, _, id string) { s.declines(id) }, status: "DECLINED", leave: "409 LOCK_RELEASED"},
		"released": {offered: true, status: "DECLINED", leave: "409 LOCK_RELEASED", end: func(s *site, _, id string) {
			s.release(s.entry(id, "OFFERED", 0).text("lockId"))
		}},
		"left": {end: func(s *site, _, id string) { s.leaves(id) }, status: "LEFT", decline: "409 LOCK_RELEASED"},
		"left with an offer": {
			offered: true, end: func(s *site, _, id string) { s.leaves(id) }, status: "LEFT", decline: "409 LOCK_RELEASED",
		},
		"expired": {offered: true, status: "EXPIRED", decline: "410 LOCK_EXPIRED", leave: "410 LOCK_EXPIRED", end: func(s *site, _, id string) {
			s.expires(s.entry(id, "OFFERED", 0).text("lockId"))
			s.w.SweepLocks()
		}},
		"due": {offered: true, status: "OFFERED", decline: "410 LOCK_EXPIRED", leave: "410 LOCK_EXPIRED", end: func(s *site, _, id string) {
			s.expires(s.entry(id, "OFFERED", 0).text("lockId"))
		}},
		"accepted": {
			offered: true, status: "ACCEPTED", decline: "409 LOCK_CONSUMED", leave: "409 LOCK_CONSUMED", end: func(s *site, event, id string) {
				offer := s.entry(id, "OFFERED", 0)
				book := fields{"eventId": event, "holder": "a", "lockId": offer.text("lockId"), "paymentTtlSeconds": 600}
				s.want(s.confirm(s.want(s.call("POST", "/api/bookings", book), 201, "").text("id"), nil), 200, "")
			},
		},
		"closed": {status: "CLOSED", decline: "409 WAITLIST_CLOSED", leave: "409 WAITLIST_CLOSED", end: func(s *site, event, _ string) {
			s.want(s.patch(event, fields{"waitlist": "CLOSED"}), 200, "")
			s.want(s.patch(event, fields{"waitlist": "OPEN"}), 200, "")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			event, locks := s.soldOut(1, 0, nil)
			id := s.waits(event, "a", 1)
			if c.offered {
				s.release(locks[0])
			}
			c.end(s, event, id)
			ended := s.want(s.call("GET", "/api/waitlist/"+id, nil), 200, "")
			if ended.text("status") != c.status {
				t.Errorf("the entry is %s", ended.raw)
			}
			s.wantEnd(s.call("POST", "/api/waitlist/"+id+"/decline", nil), c.decline, ended)
			if name == "waits" {
				s.leaves(id)
				ended = s.entry(id, "LEFT", 0)
			}
			s.wantEnd(s.call("DELETE", "/api/waitlist/"+id, nil), c.leave, ended)
			s.checkInvariants()
		})
	}
	none := "6b0166d19f73b711049e40f1"
	s.want(s.call("GET", "/api/waitlist/"+none, nil), 404, "WAITLIST_ENTRY_NOT_FOUND")
	s.want(s.call("POST", "/api/waitlist/"+none+"/decline", fields{}), 404, "WAITLIST_ENTRY_NOT_FOUND")
	s.want(s.call("DELETE", "/api/waitlist/"+none, nil), 404, "WAITLIST_ENTRY_NOT_FOUND")
}

// expires makes a lock due.
func (s *site) expires(lock string) {
	s.t.Helper()
	past := bson.D{{Key: "$set", Value: bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Minute)}}}}
	if _, err := s.w.DB.Collection("seatlocks").UpdateByID(s.w.Ctx(), s.id(lock), past); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) declines(id string) {
	s.want(s.call("POST", "/api/waitlist/"+id+"/decline", nil), 200, "")
}
func (s *site) leaves(id string) { s.want(s.call("DELETE", "/api/waitlist/"+id, nil), 200, "") }

// wantEnd fails unless an answer has the status and the code or, if there is none, is the entry as it ended.
func (s *site) wantEnd(a answer, refusal string, ended answer) {
	s.t.Helper()
	if refusal == "" {
		if s.want(a, 200, ""); a.raw != ended.raw {
			s.t.Errorf("answered %s, the entry is %s", a.raw, ended.raw)
		}
		return
	}
	if got := fmt.Sprint(a.status, " ", a.text("code")); got != refusal {
		s.t.Errorf("answered %s, want %s", a.raw, refusal)
	}
}

// Declining and leaving cancel the booking of the offer.
func TestWaitlist_DecliningCancelsTheBooking(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, end := range map[string]func(s *site, id string) answer{
		"DECLINED": func(s *site, id string) answer { return s.call("POST", "/api/waitlist/"+id+"/decline", nil) },
		"LEFT":     func(s *site, id string) answer { return s.call("DELETE", "/api/waitlist/"+id, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			event, locks := s.soldOut(1, 0, nil)
			id, next := s.waits(event, "a", 1), s.waits(event, "b", 1)
			s.release(locks[0])
			lock := s.entry(id, "OFFERED", 0).text("lockId")
			book := fields{"eventId": event, "holder": "a", "lockId": lock, "paymentTtlSeconds": 600}
			booking := s.want(s.call("POST", "/api/bookings", book), 201, "").text("id")
			a := s.want(end(s, id), 200, "")
			if a.text("status") != name || a.text("lockId") != lock || a.raw != s.entry(id, name, 0).raw {
				t.Errorf("answered %s", a.raw)
			}
			if b := s.call("GET", "/api/bookings/"+booking, nil); b.text("status") != "CANCELLED" {
				t.Errorf("the booking is %s", b.raw)
			}
			s.entry(next, "OFFERED", 0)
			s.checkInvariants()
		})
	}
}

func TestWaitlist_ListsAreInOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, locks := s.soldOut(4, 0, nil)
	user := s.user()
	for _, holder := range []string{"a", "b", "c"} {
		s.waits(event, holder, 4)
	}
	s.want(s.join(event, fields{"userId": user, "seats": 1}), 201, "")
	s.waits(event, "d", 3)
	s.release(locks[0])
	for query, want := range map[string]string{
		"":                                "a WAITING, b WAITING, c WAITING, <nil> OFFERED, d WAITING",
		"status=WAITING":                  "a WAITING, b WAITING, c WAITING, d WAITING",
		"status=OFFERED":                  "<nil> OFFERED",
		"holder=d":                        "d WAITING",
		"holder=none":                     "",
		"userId=" + user:                  "<nil> OFFERED",
		"status=CLOSED":                   "",
		"userId=" + user + "&status=LEFT": "",
	} {
		t.Run(query, func(t *testing.T) {
			if got := strings.Join(s.in(t).listedEntries(event, query), ", "); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	var positions []string
	for token, n := "", 0; n < 3; n++ {
		page := s.want(s.call("GET", "/api/events/"+event+"/waitlist?pageSize=2"+token, nil), 200, "")
		for _, item := range page.body["items"].([]any) {
			positions = append(positions, fmt.Sprint(item.(map[string]any)["position"]))
		}
		token = "&pageToken=" + page.text("nextPageToken")
	}
	if got := strings.Join(positions, " "); got != "1 2 3 <nil> 4" {
		t.Errorf("the positions are %s", got)
	}
}

// Others get what no entry fits, and the stream leaves out what is kept for the list.
func TestWaitlist_OthersGetWhatNoEntryFits(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, locks := s.soldOut(3, 0, fields{"waitlistFit": "STRICT"})
	follower := s.listen(event, "")
	follower.next()
	first := s.waits(event, "a", 2)
	s.release(locks[0])
	wish := fields{"eventId": event, "holder": "passer-by", "seats": 1}
	if a := s.want(s.call("POST", "/api/locks", wish), 409, "SEATS_UNAVAILABLE"); a.text("available") != "0" || a.text("requested") != "1" {
		t.Errorf("refused with %s", a.raw)
	}
	if e := s.call("GET", "/api/events/"+event, nil); e.text("availableSeats") != "1" || e.text("waiting") != "1" {
		t.Errorf("the event is %s", e.raw)
	}
	s.want(s.patch(event, fields{"waitlistFit": "SKIP"}), 200, "")
	follower.waitForSeats(1) // 0 until now: the seat waited for the first entry
	s.want(s.call("POST", "/api/locks", wish), 201, "")
	follower.waitForSeats(0)
	s.entry(first, "WAITING", 1)
	s.checkInvariants()
}
