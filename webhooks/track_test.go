package webhooks

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/changes"
)

// Changes of some subjects are delivered and fail in any order. Of a subject one is in flight at a time, in order, and the
// position never passes one that is neither delivered nor stored.
func TestTrack_KeepsTheOrderAndThePosition(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		track := newTrack(changes.Position{Seq: 1})
		settled, last, blocked := map[int64]bool{}, map[string]int64{}, map[string]bool{}
		var flying []*item
		inFlight := map[string]bool{}
		taken := int64(0)
		for range 300 {
			switch random.IntN(5) {
			case 0, 1:
				taken++
				e := &entry{at: changes.Position{Seq: taken}, subject: strconv.Itoa(random.IntN(5))}
				if blocked[e.subject] {
					track.addStored(e)
					settled[taken] = true
				} else {
					track.add(e)
				}
				track.scanned = changes.Position{Seq: taken + 1}
			case 2:
				if i := track.next(); i != nil {
					if inFlight[i.subject] || i.at.Seq <= last[i.subject] {
						t.Fatalf("seed %d: %v of %s is sent after %d", seed, i.at, i.subject, last[i.subject])
					}
					inFlight[i.subject], last[i.subject] = true, i.at.Seq
					flying = append(flying, i)
				}
			default:
				if len(flying) == 0 {
					continue
				}
				n := random.IntN(len(flying))
				i := flying[n]
				flying = append(flying[:n], flying[n+1:]...)
				inFlight[i.subject], settled[i.at.Seq] = false, true
				if random.IntN(4) > 0 {
					track.delivered(i)
					continue
				}
				for _, behind := range track.failed(i) {
					if behind.subject != i.subject || behind.at.Seq <= i.at.Seq {
						t.Fatalf("seed %d: %v waits behind %v", seed, behind.at, i.at)
					}
					settled[behind.at.Seq] = true
				}
				blocked[i.subject] = random.IntN(2) == 0
			}
			want := int64(1)
			for settled[want] {
				want++
			}
			if got := track.position(); got.Seq != want {
				t.Fatalf("seed %d: the position is %d, want %d", seed, got.Seq, want)
			}
		}
	}
}
