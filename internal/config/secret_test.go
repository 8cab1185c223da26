package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/config"
)

// Whoever prints or logs the settings does not show their secrets.
func TestSecrets_AreHidden(t *testing.T) {
	c := parse(t, "API_KEYS=shop:booking:hush-hush-hush-hush,ops:admin:hush-hush-hush-2 JWT_SECRET=hush-hush-hush-hush-hush-hush-hush REDIS_PASSWORD=hush "+
		"REDIS_URL=redis://u:hush@r:1/0 MONGODB_URI=mongodb://u:hush@localhost/?replicaSet=x")
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("settings", slog.Any("config", c), slog.Any("key", c.Keys[0]), slog.Any("secret", c.JWTSecret))
	slog.New(slog.NewTextHandler(&log, nil)).Info("settings", slog.Any("config", *c), slog.Any("key", c.Keys[0]), slog.Any("secret", c.JWTSecret))
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	printed := fmt.Sprintf("%v %+v %s", *c, *c, text) + log.String()
	if strings.Contains(printed, "hush") || !strings.Contains(printed, "(hidden)") {
		t.Error(printed)
	}
	if len(c.Keys) != 2 || c.Keys[0].Secret != config.Secret("hush-hush-hush-hush") || c.Redis().Password != "hush" {
		t.Errorf("the secrets are lost: %+v", c.Keys)
	}
}
