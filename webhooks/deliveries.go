package webhooks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Deliveries reads a page of an endpoint's deliveries, newest documents first; state "" is all of them.
func (s *Service) Deliveries(ctx context.Context, id ID, state string, page holdfast.Page) (list []Delivery, next string, err error) {
	if _, err := s.Get(ctx, id); err != nil {
		return nil, "", err
	}
	which := []bson.D{mongodb.Is("webhookId", id)}
	if state != "" {
		which = append(which, mongodb.Is("state", state))
	} else {
		which = append(which, mongodb.In("state", []string{Pending, Delivered, Dead}))
	}
	skip := 0
	var last ID
	if page.Token != "" {
		if last, skip, err = parseDeliveryToken(page.Token); err != nil {
			return nil, "", err
		}
		which = append(which, mongodb.Is("_id", bson.D{{Key: "$lte", Value: last}}))
	}
	cursor, err := s.deliveries().Find(ctx, mongodb.And(which...),
		options.Find().SetSort(bson.D{{Key: "_id", Value: -1}}).SetBatchSize(batchSize))
	if err != nil {
		return nil, "", mongodb.Translate(err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		var d deliveryDoc
		if err := mongodb.Unmarshal(cursor.Current, &d); err != nil {
			return nil, "", err
		}
		first := 0
		if d.Key == last {
			first = skip
		}
		all := d.all()
		for i := first; i < len(all); i++ {
			if len(list) == page.Size {
				return list, fmt.Sprintf("%s.%d", d.Key, i), nil
			}
			list = append(list, all[i])
		}
	}
	return list, "", mongodb.Translate(cursor.Err())
}

// batchSize is how many documents are read at once: one may have maxInBatch deliveries.
const batchSize = 16

// all are the deliveries of a document.
func (d *deliveryDoc) all() []Delivery {
	if d.State != Delivered {
		return []Delivery{d.delivery()}
	}
	list := make([]Delivery, len(d.Items))
	for i := range d.Items {
		d.Items[i].WebhookID, d.Items[i].State = d.WebhookID, d.State
		list[i] = d.Items[i].delivery()
	}
	return list
}

func parseDeliveryToken(token string) (last ID, skip int, err error) {
	id, count, _ := strings.Cut(token, ".")
	last, err = holdfast.ParseID(id)
	if err == nil {
		_, err = fmt.Sscanf(count, "%d", &skip)
	}
	if err != nil || skip < 0 || fmt.Sprintf("%s.%d", last, skip) != token {
		return ID{}, 0, holdfast.RefuseInput("query.pageToken", "Invalid page token.")
	}
	return last, skip, nil
}

// purgedAtOnce bounds the documents that one command removes.
const purgedAtOnce = 1000

// Purge removes deliveries that ended before a time, and those of endpoints that are gone; it returns how many documents it
// has removed; 0: none is left. A pending one whose change is past retention becomes DEAD when it is tried.
func (s *Service) Purge(ctx context.Context, before time.Time) (removed int64, err error) {
	endpoints, err := mongodb.All[endpointDoc](ctx, s.endpoints(), mongo.Pipeline{mongodb.Only("_id")})
	if err != nil {
		return 0, mongodb.Translate(err)
	}
	there := make([]ID, len(endpoints))
	for i, e := range endpoints {
		there[i] = e.ID
	}
	orphans := bson.D{{Key: "webhookId", Value: bson.D{{Key: "$nin", Value: there}}}}
	orphaned := mongodb.And(mongodb.Is("state", Pending), orphans)
	for _, which := range []bson.D{mongodb.Is("state", Delivered), mongodb.Is("state", Dead), orphaned} {
		old, err := mongodb.All[deliveryDoc](ctx, s.deliveries(), mongo.Pipeline{
			mongodb.Match(which, mongodb.Is("at", bson.D{{Key: "$lt", Value: before}})),
			mongodb.Sort("at"), mongodb.Limit(purgedAtOnce), mongodb.Only("_id"),
		})
		if err != nil {
			return removed, mongodb.Translate(err)
		}
		if len(old) == 0 {
			continue
		}
		keys := make([]ID, len(old))
		for i, d := range old {
			keys[i] = d.Key
		}
		result, err := s.deliveries().DeleteMany(ctx, mongodb.And(mongodb.In("_id", keys), which))
		if err != nil {
			return removed, mongodb.UnknownOutcome(err)
		}
		removed += result.DeletedCount
	}
	return removed, nil
}

// countDeliveries are of the metrics: documents that are pending and dead.
func (s *Service) countDeliveries(ctx context.Context) (pending, dead int64, err error) {
	found, err := mongodb.All[struct {
		State mongodb.Text  `bson:"_id"`
		N     mongodb.Whole `bson:"n"`
	}](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(mongodb.In("state", []string{Pending, Dead})), mongodb.Only("state"),
		mongodb.Group("$state", bson.E{Key: "n", Value: mongodb.Sum(1)}),
	})
	for _, f := range found {
		if f.State == Pending {
			pending = f.N.Or(0)
		} else {
			dead = f.N.Or(0)
		}
	}
	return pending, dead, mongodb.Translate(err)
}
