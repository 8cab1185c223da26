package mongodb_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

func TestConnect_ErrorsNameTheSettingAndNoSecrets(t *testing.T) {
	t.Parallel()
	o := mongodb.Options{Log: slog.New(slog.DiscardHandler), Clock: mongodb.SystemTime}
	for name, uri := range map[string]string{
		"no URI":    "nonsense",
		"a bad URI": "mongodb://user:secret@[::1",
		"no server": "mongodb://user:secret@127.0.0.1:1/?replicaSet=x&serverSelectionTimeoutMS=100",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			_, err := mongodb.Connect(ctx, uri, "x", o)
			if ctx.Err() != nil {
				t.Error("the timeout of the URI was not kept")
			}
			if err == nil || !strings.Contains(err.Error(), "MONGODB_URI") || strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		})
	}
}
