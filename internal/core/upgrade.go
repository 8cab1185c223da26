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
	"github.com/holdfast-dev/holdfast/seats/plans"
)

// ErrUpgraded says that the upgrade is finished already.
var ErrUpgraded = errors.New("the upgrade is finished")

// UpgradeState reads how far the upgrade from the former version is.
func (c *Core) UpgradeState(ctx context.Context) (mongodb.Upgrade, error) {
	v, isNew, err := c.DB.SchemaVersion(ctx, store.EventsCollection)
	switch {
	case err != nil:
		return "", err
	case v.Upgrade.IsState():
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
// of it may be left, but processes of this version go on. It sets the validators that refuse that
// version, and moves its fields; it calls note after each step. It may be interrupted at any time,
// and goes on when it is called again. It returns ErrUpgraded if nothing is left to do.
func (c *Core) FinishUpgrade(ctx context.Context, note func(mongodb.UpgradePosition)) error {
	state, err := c.UpgradeState(ctx)
	switch {
	case err != nil:
		return err
	case state == mongodb.UpgradeFinished:
		return ErrUpgraded
	}
	if _, err := c.DB.RaiseVersion(ctx, 0, false, mongodb.UpgradeRunning); err != nil { // the document exists from here on
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
	if _, begun, err := c.DB.UpgradePosition(ctx); err != nil {
		return err
	} else if !begun { // the validators were there already
		if err := c.DB.ResetPosition(ctx); err != nil {
			return err
		}
	}
	position, err := c.Store.MoveFormer(ctx, note)
	if err != nil {
		return err
	}
	if _, err = c.DB.SetUpgrade(ctx, mongodb.UpgradeFinished); err != nil {
		return err
	}
	return c.DB.DropPosition(ctx, position)
}

// keepInterval is how long a validator that a process of the former version has put back stays
// at most, while a process of this version runs.
const keepInterval = 2 * time.Second

// KeepValidators restores, until ctx ends, validators that a process of the former version has
// put back at its start after the upgrade, and moves the fields that it has written meanwhile. It
// looks once in keepInterval, and logs an error once, not each time.
func KeepValidators(ctx context.Context, db *mongodb.DB, log *slog.Logger) {
	ticker := time.NewTicker(keepInterval)
	defer ticker.Stop()
	var told string
	for {
		switch err := RestoreValidators(ctx, db, log); {
		case err == nil || ctx.Err() != nil:
			told = ""
		case err.Error() != told:
			told = err.Error()
			log.WarnContext(ctx, "Could not keep the validators", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// RestoreValidators is one pass of KeepValidators. If the process that finishes the upgrade died
// after it had set the validators, they are kept too, but only the next one goes on moving.
func RestoreValidators(ctx context.Context, db *mongodb.DB, log *slog.Logger) error {
	v, _, err := db.ReadVersion(ctx)
	if err != nil || v.Version > SchemaVersion || v.Upgrade != mongodb.UpgradeFinishing && v.Upgrade != mongodb.UpgradeFinished {
		return err
	}
	_, begun, err := db.UpgradePosition(ctx)
	if err != nil || v.Upgrade == mongodb.UpgradeFinishing && !begun { // its validators are not set yet
		return err
	}
	restored, advice, err := mongodb.RestoreValidators(ctx, db, Collections()...)
	for _, name := range restored {
		log.WarnContext(ctx, "Restored a validator: a process of the former version has started, and must be stopped",
			slog.String("collection", name))
	}
	if len(advice) > 0 {
		err = errors.Join(err, fmt.Errorf("a validator is missing: %s", strings.Join(advice, "; ")))
	}
	if err != nil || v.Upgrade == mongodb.UpgradeFinishing || !begun && len(restored) == 0 {
		return err
	}
	position, err := store.New(db, plans.New(db).Hall).MoveFormer(ctx, func(mongodb.UpgradePosition) {})
	if err != nil {
		return err
	}
	return db.DropPosition(ctx, position)
}
