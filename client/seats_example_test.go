package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-dev/holdfast/client"
)

// A customer holds a seat of a hall, and then the two best ones; another request for one of them is refused.
func Example_seats() {
	ctx, shop := context.Background(), client.New("http://127.0.0.1:8080")
	hall, err := shop.CreateSeatingPlan(ctx, client.SeatingPlan{
		Name: "Studio", Categories: []client.Category{{Key: "seats", Name: "Seats"}}, Sections: []client.Section{
			{Key: "A", Name: "Stalls", Category: "seats", Rows: []client.Row{{Key: "1", Count: 4}, {Key: "2", Count: 4}}},
		},
	}, "")
	check(err)
	sale, err := shop.CreateEvent(ctx, client.NewEvent{
		Name: "Gala", SeatingPlanID: hall.ID, EventDate: time.Date(2027, 6, 15, 19, 0, 0, 0, time.UTC),
	})
	check(err)
	ada, err := shop.CreateUser(ctx, "Ada", fmt.Sprintf("ada-%d@example.com", time.Now().UnixNano()))
	check(err)

	cart, err := shop.AcquireLock(ctx, client.LockRequest{EventID: sale.ID, UserID: ada.ID, SeatIDs: []string{"A-1-2"}})
	check(err)
	cart, err = shop.ChangeSeats(ctx, cart.ID, client.Wish{BestAvailable: &client.BestAvailable{Seats: 2, Adjacent: client.AdjacentRequired}})
	check(err)
	fmt.Println("held:", cart.SeatIDs())

	_, err = shop.AcquireLock(ctx, client.LockRequest{EventID: sale.ID, UserID: ada.ID, SeatIDs: []string{"A-1-2", "A-1-4"}})
	var refusal *client.Error
	if errors.As(err, &refusal) {
		fmt.Println(refusal.Code, refusal.Unavailable)
	}

	plan, err := shop.GetSeatingPlan(ctx, sale.SeatingPlanID) // keep it: a plan never changes
	check(err)
	seats, err := shop.GetSeatMap(ctx, sale.ID) // RefreshSeatMap asks again, and costs little if nothing changed
	check(err)
	for _, section := range plan.Sections {
		taken, _ := seats.Section(section.Key)
		for n, seat := range section.AllSeats() {
			if taken.Taken(n) {
				fmt.Println("taken:", seat.ID)
			}
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
