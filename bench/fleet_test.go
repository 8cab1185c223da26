package main

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

func TestOvertaken_CountsGrantsAfterThoseOfLaterCustomers(t *testing.T) {
	t.Parallel()
	const s = time.Second
	at := func(event int, arrived, when time.Duration) grant {
		return grant{event: event, arrived: arrived, when: when}
	}
	for _, row := range []struct {
		name   string
		grants []grant
		want   float64
	}{
		{"nobody", nil, 0},
		{"in order", []grant{at(0, 0, s), at(0, s, 2*s), at(0, 2*s, 3*s)}, 0},
		{"came a second later, was served sooner", []grant{at(0, 0, 4*s), at(0, s, 3*s)}, 0.5},
		{"came less than a second later", []grant{at(0, 0, 4*s), at(0, s-1, 3*s)}, 0},
		{"another event", []grant{at(0, 0, 4*s), at(1, 2*s, 3*s)}, 0},
		{"one overtakes all", []grant{at(0, 0, 9*s), at(0, 1, 9*s), at(0, 2, 9*s), at(0, 5*s, 6*s)}, 0.75},
		{"served at the same time", []grant{at(0, 0, 4*s), at(0, 2*s, 4*s)}, 0},
		{"given out of order", []grant{at(0, 5*s, 6*s), at(0, 0, s), at(0, 2*s, 7*s)}, 1. / 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := overtaken(row.grants, s); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

func TestHallView_PicksFreeAdjacentSeatsUntilNoneAreLeft(t *testing.T) {
	t.Parallel()
	const rows = 3
	h, seats := newHallView(rows), 0
	for number := range 1000 {
		c := customer{Number: number, Seats: 1 + number%mostSeats}
		b, found := h.pick(c)
		if !found {
			continue
		}
		if b.seats != c.Seats || b.first+b.seats > fleetRowSeats || h.rows[b.row]&b.mask() != 0 {
			t.Fatalf("customer %d got %+v of row %b", number, b, h.rows[b.row])
		}
		h.take(b)
		seats += b.seats
	}
	taken := 0
	for _, row := range h.rows {
		taken += bits.OnesCount64(row)
	}
	if taken != seats || taken < rows*fleetRowSeats*9/10 {
		t.Errorf("%d seats are taken, by %d picks, of %d", taken, seats, rows*fleetRowSeats)
	}
}

func TestAddServers_GivesEachProcessItsLinesInTheShippedConfiguration(t *testing.T) {
	t.Parallel()
	command := devserver.Command{Args: []string{"haproxy", "-db", "-f", filepath.Join("..", "deploy", "haproxy", "haproxy.cfg")}}
	more := []*server{{address: "127.0.0.1:9004"}, {address: "127.0.0.1:9005"}}
	if err := addServers(&command, more); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(command.TempDir) })
	config, err := os.ReadFile(command.Args[3])
	if err != nil {
		t.Fatal(err)
	}
	for n, address := range []string{"127.0.0.1:9004", "127.0.0.1:9005"} {
		for _, most := range []int{2500, 1500, 4000} { // of the three back ends
			line := fmt.Sprintf("    server api-%d %s maxconn %d\n", 4+n, address, most)
			if strings.Count(string(config), line) != 1 {
				t.Errorf("the configuration has %q %d times", line, strings.Count(string(config), line))
			}
		}
	}
}
