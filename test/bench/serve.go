package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/holdfast-dev/holdfast"
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

type lockResponse struct {
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

// serve is a process that serves a baseline with the same HTTP library as the API. Its arguments are VARIANT URI
// DATABASE ADDRESS.
func serve(args []string) error {
	const arguments = 4
	if len(args) != arguments {
		return fmt.Errorf("usage: serve VARIANT URI DATABASE ADDRESS")
	}
	name, uri, database, address := args[0], args[1], args[2], args[3]
	client, err := mongo.Connect(options.Client().ApplyURI(uri).
		SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority()))
	if err != nil {
		return err
	}
	db := client.Database(database)
	var via locker // nil: the handler does nothing
	switch name {
	case transactionName:
		via = transactionPerLock(db)
	case mutexName:
		via = mutexPerEvent(db)
	case emptyName:
	default:
		return fmt.Errorf("unknown variant %q", name)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("GET /metrics", promhttp.Handler())
	conf := huma.DefaultConfig("Baseline", "1")
	conf.CreateHooks = nil
	huma.Register(humago.New(mux, conf), huma.Operation{
		OperationID: "lock", Method: http.MethodPost, Path: "/api/locks", DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, request *lockRequest) (*lockResponse, error) {
		return serveLock(ctx, db, via, request)
	})
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

// serveLock looks up the user, as the API does, and locks the seats.
func serveLock(ctx context.Context, db *mongo.Database, via locker, request *lockRequest) (*lockResponse, error) {
	event, err := holdfast.ParseID(request.Body.EventID)
	if err != nil {
		return nil, huma.Error422UnprocessableEntity("eventId")
	}
	user, err := holdfast.ParseID(request.Body.UserID)
	if err != nil {
		return nil, huma.Error422UnprocessableEntity("userId")
	}
	if via != nil {
		if err := db.Collection("users").FindOne(ctx, bson.D{{Key: "_id", Value: user}}).Err(); err != nil {
			return nil, huma.Error404NotFound("user")
		}
		granted, err := via(ctx, event, user, request.Body.Seats, request.Body.IdempotencyKey)
		if err != nil {
			return nil, err
		}
		if !granted {
			return nil, huma.Error409Conflict("sold out")
		}
	}
	response := &lockResponse{Location: "/api/locks/" + event.String()}
	response.Body.ID, response.Body.EventID, response.Body.UserID = event.String(), request.Body.EventID, request.Body.UserID
	response.Body.Seats, response.Body.Status, response.Body.IdempotencyKey = request.Body.Seats, "ACTIVE", request.Body.IdempotencyKey
	return response, nil
}
