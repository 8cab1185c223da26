package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// ErrUpgraded says that the upgrade is finished already.
var ErrUpgraded = errors.New("the upgrade is finished")

// UpgradeState reads how far the upgrade from the former version is.
func (c *Core) UpgradeState(ctx context.Context) (mongodb.Upgrade, error) {
	v, isNew, err := c.DB.SchemaVersion(ctx, store.EventsCollection)
	switch {
	case err != nil:
		return "", err
	case v.Upgrade != "":
		return v.Upgrade, nil
	case isNew: // its first process will say so
		return mongodb.UpgradeFinished, nil
	}
	return mongodb.UpgradeRunning, nil
}

// learnPause is longer than a process takes to learn that the upgrade is being finished. A
// process that is slower is refused by the validators, and learns of it then.
const learnPause = 5 * time.Second

// FinishUpgrade ends the time in which the former version may serve the database too. No process
// of it may be left, but processes of this version go on. It moves the former version's fields,
// calls note after each step, and sets the validators that refuse that version. It may be
// interrupted at any time, and goes on when it is called again. It returns ErrUpgraded if
// nothing is left to do.
func (c *Core) FinishUpgrade(ctx context.Context, note func(mongodb.UpgradePosition)) error {
	state, err := c.UpgradeState(ctx)
	switch {
	case err != nil:
		return err
	case state == mongodb.UpgradeFinished:
		return ErrUpgraded
	}
	if _, err := c.DB.RaiseVersion(ctx, 0, false); err != nil { // the document exists from here on
		return err
	}
	if _, err := c.DB.SetUpgrade(ctx, mongodb.UpgradeFinishing); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(learnPause):
	}
	_, advice, err := mongodb.RestoreValidators(ctx, c.DB, Collections()...)
	if err != nil {
		return err
	}
	if len(advice) > 0 {
		return fmt.Errorf("the validators could not be changed; then finish again: %s", strings.Join(advice, "; "))
	}
	if err := c.Store.MoveFormer(ctx, note); err != nil {
		return err
	}
	if _, err = c.DB.SetUpgrade(ctx, mongodb.UpgradeFinished); err != nil {
		return err
	}
	return c.DB.DropPosition(ctx)
}

// keepInterval is how long a validator that a process of the former version has put back stays
// at most, while a process of this version runs.
const keepInterval = 2 * time.Second

// KeepValidators restores, until ctx ends, validators that a process of the former version has
// put back at its start after the upgrade, and moves the fields that it has written meanwhile. It
// looks once in keepInterval.
func KeepValidators(ctx context.Context, db *mongodb.DB, log *slog.Logger) {
	ticker := time.NewTicker(keepInterval)
	defer ticker.Stop()
	for {
		if err := RestoreValidators(ctx, db, log); err != nil && ctx.Err() == nil {
			log.DebugContext(ctx, "Could not check the validators", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// RestoreValidators is one pass of KeepValidators.
func RestoreValidators(ctx context.Context, db *mongodb.DB, log *slog.Logger) error {
	v, _, err := db.SchemaVersion(ctx, store.EventsCollection)
	if err != nil || v.Version > SchemaVersion || v.Upgrade != mongodb.UpgradeFinished {
		return err
	}
	restored, advice, err := mongodb.RestoreValidators(ctx, db, Collections()...)
	if len(restored) > 0 { // a document that has such a field is not validated until it was moved
		err = errors.Join(err, db.DropPosition(ctx), store.New(db).MoveFormer(ctx, func(mongodb.UpgradePosition) {}), db.DropPosition(ctx))
	}
	for _, name := range restored {
		log.WarnContext(ctx, "Restored a validator: a process of the former version has started, and must be stopped",
			slog.String("collection", name))
	}
	for _, a := range advice {
		log.ErrorContext(ctx, "A validator is missing", slog.String("advice", a))
	}
	return err
}
