package mongodb_test

import (
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

func TestRejectedForDocument(t *testing.T) {
	command := func(code int32, labels ...string) error {
		return fmt.Errorf("x: %w", mongo.CommandError{Code: code, Labels: labels})
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"validation":        {command(121), true},
		"type mismatch":     {command(14), true},
		"bad value":         {command(2), true},
		"too large":         {command(10334), true},
		"duplicate key":     {mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 11000}}}, true},
		"out of disk space": {command(14031), false},
		"interrupted":       {command(11601), false},
		"unauthorized":      {command(13), false},
		"write conflict":    {command(112, "TransientTransactionError"), false},
		"to be repeated":    {command(121, "TransientTransactionError"), false},
		"write concern":     {mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64}}, false},
		"no answer":         {command(121, "NetworkError"), false},
		"no error":          {nil, false},
		"of our own":        {errors.New("121"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mongodb.RejectedForDocument(c.err); got != c.want {
				t.Errorf("%v for %v", got, c.err)
			}
		})
	}
}
