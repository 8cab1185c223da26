package mongodb

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// MemberClock is the clock of one member of the replica set.
type MemberClock struct {
	Host string
	// Offset is how far the clock is ahead of this process's clock.
	Offset time.Duration
	Err    error // the member did not answer
}

// MemberClocks reads the clocks of all members, over a direct connection to each of them with the options of the
// URI. It returns no clocks if the client is connected to a mongos.
func (db *DB) MemberClocks(ctx context.Context, uri string) (clocks []MemberClock, err error) {
	var hello struct {
		Hosts []string `bson:"hosts"`
	}
	if err := db.hello(ctx, &hello); err != nil {
		return nil, err
	}
	for _, host := range hello.Hosts {
		c := MemberClock{Host: host}
		c.Offset, c.Err = db.memberOffset(ctx, uri, host)
		clocks = append(clocks, c)
	}
	return clocks, nil
}

func (db *DB) memberOffset(ctx context.Context, uri, host string) (time.Duration, error) {
	client, err := mongo.Connect(clientOptions(uri).SetAppName(db.appName).SetHosts([]string{host}).SetDirect(true))
	if err != nil {
		return 0, err
	}
	defer func() { _ = client.Disconnect(context.WithoutCancel(ctx)) }() // nothing depends on this connection
	admin := client.Database("admin")
	if err := client.Ping(ctx, nil); err != nil { // so that the round trip is short
		return 0, err
	}
	var hello struct {
		LocalTime time.Time `bson:"localTime"`
	}
	before := db.clock()
	if err := admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		return 0, err
	}
	return hello.LocalTime.Sub(before.Add(db.clock.Since(before) / 2)).Round(time.Millisecond), nil
}
