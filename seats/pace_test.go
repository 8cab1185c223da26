package seats

import (
	"testing"
	"time"
)

// Others are seen by a rev that grew by more than this committer's own write,
// and are taken to be there for some batches.
func TestPace_SeesOthersByTheRev(t *testing.T) {
	t.Parallel()
	var p pace
	p.saw(10, time.Millisecond)
	p.saw(11, time.Millisecond)
	if p.rivals != 0 {
		t.Error("it sees others where there are none")
	}
	p.lostCount() // a batch that was read first raised the rev unseen
	p.saw(14, time.Millisecond)
	if p.rivals != 0 {
		t.Error("it takes its own writes for others'")
	}
	p.saw(17, time.Millisecond)
	if p.rivals != rivalsFor || p.took != time.Millisecond {
		t.Errorf("it does not see others: %+v", p)
	}
	for rev := int64(18); rev < 18+rivalsFor; rev++ {
		p.saw(rev, time.Millisecond)
	}
	if p.rivals != 0 {
		t.Errorf("it gives way to others who are gone: %+v", p)
	}
}
