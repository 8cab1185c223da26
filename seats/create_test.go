package seats_test

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// An event that was made is answered, even if nothing can be read at the moment. The answer
// is what is stored.
func TestCreateEvent_AnswersWithoutReading(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test")
	off := w.FailCommands("aggregate", "alwaysOn", bson.D{{Key: "errorCode", Value: 11602}})
	made, err := w.Seats.CreateEvent(w.Ctx(), holdfast.NewEvent{
		Name: "Ball", TotalSeats: 7, MaxSeatsPerUser: 2, EventDate: time.Date(2027, 1, 2, 3, 4, 5, 678_999_999, time.FixedZone("", 3600)),
	})
	off()
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := w.Seats.GetEvent(w.Ctx(), made.ID); err != nil || !reflect.DeepEqual(stored, made) {
		t.Errorf("answered %+v, stored is %+v, %v", made, stored, err)
	}
}

func TestCreateEventOnce_ReplaysByKey(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	processes := []*testenv.Env{w, testenv.Open(t, w.URI, w.DB.Name())}
	key := holdfast.CreationKey{Caller: "shop", Key: "k"}
	ball := holdfast.NewEvent{Name: "Ball", TotalSeats: 10, EventDate: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)}
	var mu sync.Mutex
	made := map[holdfast.ID]int{} // answers that do not say replayed
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			e, replayed, err := processes[i%2].Seats.CreateEventOnce(w.Ctx(), ball, key)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if made[e.ID] += 0; !replayed {
				made[e.ID]++
			}
		})
	}
	all.Wait()
	if len(made) != 1 {
		t.Fatalf("%d events were made", len(made))
	}
	for id, times := range made {
		w.Acquire(id, 3, testenv.Soon())
		e, replayed, err := w.Seats.CreateEventOnce(w.Ctx(), ball, key)
		if times != 1 || err != nil || !replayed || e.ID != id || e.AvailableSeats != 7 {
			t.Errorf("made %d times; again: %+v, replayed %v, %v; want its present state", times, e, replayed, err)
		}
	}
	larger := ball
	larger.TotalSeats++
	if _, _, err := w.Seats.CreateEventOnce(w.Ctx(), larger, key); !holdfast.HasCode(err, holdfast.CodeIdempotencyKeyReused) {
		t.Errorf("another request: %v", err)
	}
	other := holdfast.CreationKey{Caller: "door", Key: "k"}
	if e, replayed, err := w.Seats.CreateEventOnce(w.Ctx(), larger, other); err != nil || replayed || e.TotalSeats != 11 {
		t.Errorf("another caller: %+v, %v, %v", e, replayed, err)
	}
}
