package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/holdfast-dev/holdfast/internal/ids"
)

// Sides that this program serves itself, through the same HTTP library as the API.
const (
	sideTransaction = "a transaction each"
	sideMutex       = "… behind a mutex"
	sideEmpty       = "an empty handler"
)

type lockRequest struct {
	Body struct {
		EventID        string     `json:"eventId" pattern:"^[0-9a-fA-F]{24}$"`
		UserID         string     `json:"userId" pattern:"^[0-9a-fA-F]{24}$"`
		Seats          int64      `json:"seats" minimum:"1" maximum:"10000000"`
		ExpiresAt      *time.Time `json:"expiresAt,omitempty"`
		TTLSeconds     *int64     `json:"ttlSeconds,omitempty"`
		IdempotencyKey string     `json:"idempotencyKey,omitempty" maxLength:"200"`
	}
}

type lockAnswer struct {
	Location string `header:"Location"`
	Body     struct {
		ID             string `json:"id"`
		EventID        string `json:"eventId"`
		UserID         string `json:"userId"`
		Seats          int64  `json:"seats"`
		Status         string `json:"status"`
		IdempotencyKey string `json:"idempotencyKey"`
	}
}

// serve is a server process: SIDE URI DATABASE ADDRESS.
func serve(args []string) error {
	const wanted = 4
	if len(args) != wanted {
		return fmt.Errorf("usage: serve SIDE URI DATABASE ADDRESS")
	}
	name, uri, database, address := args[0], args[1], args[2], args[3]
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority()))
	if err != nil {
		return err
	}
	db := client.Database(database)
	var s side
	switch name {
	case sideTransaction:
		s = transaction{db}
	case sideMutex:
		s = &mutex{transaction: transaction{db}}
	case sideEmpty:
	default:
		return fmt.Errorf("there is no side %q", name)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	conf := huma.DefaultConfig("Baseline", "1")
	conf.CreateHooks = nil
	huma.Register(humago.New(mux, conf), huma.Operation{
		OperationID: "lock", Method: http.MethodPost, Path: "/api/locks", DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *lockRequest) (*lockAnswer, error) {
		event, user, err := parse(in)
		if err != nil {
			return nil, err
		}
		if s != nil {
			if err := db.Collection("users").FindOne(ctx, bson.D{{Key: "_id", Value: user}}).Err(); err != nil {
				return nil, huma.Error404NotFound("user")
			}
			granted, err := s.lock(ctx, event, user, in.Body.Seats, in.Body.IdempotencyKey)
			if err != nil {
				return nil, err
			}
			if !granted {
				return nil, huma.Error409Conflict("sold out")
			}
		}
		a := &lockAnswer{Location: "/api/locks/" + event.String()}
		a.Body.ID, a.Body.EventID, a.Body.UserID = event.String(), in.Body.EventID, in.Body.UserID
		a.Body.Seats, a.Body.Status, a.Body.IdempotencyKey = in.Body.Seats, "ACTIVE", in.Body.IdempotencyKey
		return a, nil
	})
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

func parse(in *lockRequest) (event, user ids.ID, err error) {
	if event, err = ids.Parse(in.Body.EventID); err != nil {
		return event, user, huma.Error422UnprocessableEntity("eventId")
	}
	if user, err = ids.Parse(in.Body.UserID); err != nil {
		return event, user, huma.Error422UnprocessableEntity("userId")
	}
	return event, user, nil
}
