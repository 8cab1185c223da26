package httpapi_test

import (
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

func TestUpdateUser_ChangesWhatIsGiven(t *testing.T) {
	t.Parallel()
	s := open(t)
	user := s.want(s.call("POST", "/api/users", fields{"name": "Ada", "email": "ada@example.com"}), 201, "")
	path := "/api/users/" + user.text("id")
	for _, c := range []struct {
		change      fields
		name, email string
	}{
		{fields{}, "Ada", "ada@example.com"},
		{fields{"name": " Ada B. "}, "Ada B.", "ada@example.com"},
		{fields{"email": "Ada@Ex\u00e4mple.de"}, "Ada B.", "Ada@Ex\u00e4mple.de"},
		{fields{"email": "ada@xn--exmple-cua.de"}, "Ada B.", "ada@xn--exmple-cua.de"},
		{fields{"name": "Ada", "email": "ada@example.org"}, "Ada", "ada@example.org"},
		{fields{"name": "Ada", "email": "ada@example.org"}, "Ada", "ada@example.org"},
	} {
		a := s.want(s.call("PATCH", path, c.change), 200, "")
		if a.text("name") != c.name || a.text("email") != c.email || a.text("createdAt") != user.text("createdAt") {
			t.Errorf("%v: %s", c.change, a.raw)
		}
		if read := s.call("GET", path, nil); read.raw != a.raw {
			t.Errorf("%v: answered %s, and then %s", c.change, a.raw, read.raw)
		}
	}
	for email, n := range map[string]int{"ada@example.com": 0, "ADA@example.org": 1} {
		if found := s.call("GET", "/api/users?email="+email, nil); strings.Count(found.raw, user.text("id")) != n {
			t.Errorf("%s: %s", email, found.raw)
		}
	}
}

// One mailbox has one user, in any case and spelling, and a refused change leaves the user as it was.
func TestUpdateUser_RefusesAnAddressOfAnother(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.call("POST", "/api/users", fields{"name": "A", "email": "Jos\u00e9@Ex\u00e4mple.de"}), 201, "")
	user := s.want(s.call("POST", "/api/users", fields{"name": "Ada", "email": "Ada@example.com"}), 201, "")
	path := "/api/users/" + user.text("id")
	for _, email := range []string{"JOS\u00c9@xn--exmple-cua.de", "Jose\u0301@exa\u0308mple.de", "jos\u00e9@ex\u00e4mple\u3002de"} {
		s.want(s.call("PATCH", path, fields{"name": "Bob", "email": email}), 409, "EMAIL_TAKEN")
	}
	s.want(s.call("PATCH", path, fields{"email": "ADA@Example.com"}), 200, "") // the user's own
	for field, invalid := range map[string][]any{
		"name": {"", " ", "a\nb", "a\u0085", "a\u202eb", strings.Repeat("a", 201), nil, 5, []string{"A"}},
		"email": {"", "ada", "@example.com", "ada@", "a da@example.com", " ada@example.com", "Ada <ada@example.com>", "ada@b\x00",
			strings.Repeat("a", 251) + "@b.c", nil, 5, fields{"$ne": ""}},
		"id": {user.text("id")}, "createdAt": {user.text("createdAt")}, "idempotencyKey": {"k"},
	} {
		for _, value := range invalid {
			body := fields{"name": "Bob", "email": "bob@example.com"}
			body[field] = value
			a := s.want(s.call("PATCH", path, body), 422, "VALIDATION_FAILED")
			if !strings.Contains(a.raw, `"location":"body.`+field+`"`) {
				t.Errorf("%v: %s", body, a.raw)
			}
		}
	}
	s.want(s.call("PATCH", path, fields{"name": "Bob"}, "Idempotency-Key", "k"), 422, "VALIDATION_FAILED")
	s.want(s.call("PATCH", "/api/users/x", fields{"name": "Bob"}), 422, "VALIDATION_FAILED")
	s.want(s.call("PATCH", "/api/users/"+mongodb.NewID().String(), fields{"name": "Bob"}), 404, "USER_NOT_FOUND")
	s.want(s.call("PATCH", "/api/users/"+mongodb.NewID().String(), fields{}), 404, "USER_NOT_FOUND")
	if a := s.call("GET", path, nil); a.text("name") != "Ada" || a.text("email") != "ADA@Example.com" {
		t.Errorf("it is %s", a.raw)
	}
	if n, err := s.w.DB.Collection("changes").CountDocuments(t.Context(), bson.D{}); err != nil || n != 0 {
		t.Errorf("%d changes, %v", n, err)
	}
}

// Many users take one address at the same time: one of them gets it.
func TestUpdateUser_GivesAnAddressToOne(t *testing.T) {
	t.Parallel()
	s := open(t)
	users := make([]string, 8)
	for n := range users {
		users[n] = s.user()
	}
	for _, email := range []string{"ada@example.com", "bob@example.com", "\u00e4@ex\u00e4mple.de"} {
		var taken sync.WaitGroup
		answers := make([]answer, len(users))
		for n, id := range users {
			taken.Go(func() { answers[n] = s.call("PATCH", "/api/users/"+id, fields{"email": email}) })
		}
		taken.Wait()
		granted := 0
		for _, a := range answers {
			if a.status == 200 {
				granted++
			} else {
				s.want(a, 409, "EMAIL_TAKEN")
			}
		}
		if granted != 1 {
			t.Errorf("%d users have %s", granted, email)
		}
	}
}
