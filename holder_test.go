package holdfast_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// Other software computes these IDs, so they never change.
func TestHolderID_IsTheBeginningOfASHA256(t *testing.T) {
	const id = "6b0166d19f73b711049e40f1"
	for holder, want := range map[string]string{
		"cart-1": "e95b8d0db5c4a686cd434b49", "\u00e9": "eeb25746c78d4c4ef33219e1", "e\u0301": "95ce610a51c4b3f14aa8cd15",
		id: "bc0e2894e31bcbdd9bc2f2b1", "erased-" + id: id, "erased-" + strings.ToUpper(id): "03739d2ea956fc6d3b730db1",
		"erased-": "a13bad6fa10bb8808f773718", "erased-" + strings.Repeat("0", 24): "1d11867460e6355cee8911f1",
	} {
		if got := holdfast.HolderID(holder).String(); got != want {
			t.Errorf("%q has the ID %s, want %s", holder, got, want)
		}
	}
}

func TestCheckHolder(t *testing.T) {
	for holder, valid := range map[string]bool{
		"a": true, " ": true, "\u202e": true, strings.Repeat("\U0001f3ad", 128): true, "Erased-1": true, "un-erased-1": true,
		"": false, strings.Repeat("a", 129): false, "a\x00": false, "a\n": false, "\x7f": false, "\u0085": false, "\xff": false,
		"erased-": false, "erased-6b0166d19f73b711049e40f1": false,
	} {
		err := holdfast.CheckHolder("body.holder", holder)
		if (err == nil) != valid || err != nil && !holdfast.HasCode(err, holdfast.CodeInvalid) {
			t.Errorf("%q: %v", holder, err)
		}
	}
}

func TestCustomerID_NamesOneCustomer(t *testing.T) {
	user, cart := holdfast.ID{1}, holdfast.HolderID("cart-1")
	for _, c := range []struct {
		user   holdfast.ID
		holder string
		want   holdfast.ID
	}{{user, "", user}, {holdfast.ID{}, "cart-1", cart}, {cart, "cart-1", cart}, {user, "cart-1", holdfast.ID{}}} {
		if got, err := holdfast.CustomerID(c.user, c.holder); got != c.want || (err != nil) != got.IsZero() {
			t.Errorf("%v: %s, %v", c, got, err)
		}
	}
}

// A user may have the ID of a holder, and so its key.
func TestLockRequest_OfAnotherCustomerDidNotMakeTheLock(t *testing.T) {
	request := holdfast.LockRequest{UserID: holdfast.HolderID("cart-1"), Holder: "cart-1", Seats: 2, Key: "k"}
	user, seated := request, request
	user.Holder, seated.Wish = "", holdfast.Wish{SeatIDs: []string{"A-1-1", "A-1-2"}}
	for _, made := range []string{request.Hash(), ""} {
		lock := holdfast.Lock{UserID: request.UserID, Holder: request.Holder, Seats: 2, RequestHash: made}
		if !request.Made(lock) || user.Made(lock) {
			t.Errorf("with the hash %q the lock is the holder's: %v, the user's: %v", made, request.Made(lock), user.Made(lock))
		}
		lock.Holder = ""
		if made == "" && (request.Made(lock) || !user.Made(lock)) {
			t.Error("the holder has made the lock of the user")
		}
	}
	if seated.Hash() == request.Hash() {
		t.Error("the hash of a holder's request has no seats")
	}
}
