package seatctl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// upgradeCmd ends an upgrade from the former version.
type upgradeCmd struct {
	Status statusCmd `cmd:"" help:"Say how far the upgrade is, and which processes are alive. Changes nothing."`
	Finish finishCmd `cmd:"" help:"End the upgrade, after every process of the former version has stopped. There is no way back."`
}

// statusCmd shows the state of the upgrade.
type statusCmd struct{}

// upgradeLine is one row of the status.
type upgradeLine struct {
	What   string `json:"what"`
	Detail string `json:"says"`
}

// stateTexts explain the states of an upgrade.
var stateTexts = map[mongodb.Upgrade]string{
	mongodb.UpgradeRunning: "running: processes of both versions may serve this database; " +
		"when all processes are of this version, run: seatctl upgrade finish",
	mongodb.UpgradeFinishing: "finishing: it was begun; if seatctl upgrade finish does not run any more, run it again, and it goes on",
	mongodb.UpgradeFinished:  "finished",
}

func (*statusCmd) run(ctx context.Context, s *session) (int, error) {
	state, err := s.UpgradeState(ctx)
	if err != nil {
		return exitFailed, err
	}
	lines := []upgradeLine{{"upgrade", stateTexts[state]}}
	if state == mongodb.UpgradeFinishing {
		position, _, err := s.DB.UpgradePosition(ctx)
		if err != nil {
			return exitFailed, err
		}
		lines = append(lines, upgradeLine{"progress", describePosition(position)})
	}
	processes, err := s.Jobs.Processes(ctx)
	if err != nil {
		return exitFailed, err
	}
	for _, p := range processes {
		lines = append(lines, upgradeLine{"process", p.Holder + ", version " + p.Version})
	}
	if len(processes) == 0 {
		lines = append(lines, upgradeLine{"process", "no process of this version shows a heartbeat"})
	}
	former, err := s.formerLines(ctx)
	if err != nil {
		return exitFailed, err
	}
	lines = append(lines, former...)
	return exitOK, printRows(s.out, lines, []any{"", "detail"}, func(l upgradeLine) []any { return []any{l.What, l.Detail} })
}

// formerLines tell of the connections of the former version, which has no heartbeat.
func (s *session) formerLines(ctx context.Context) (lines []upgradeLine, err error) {
	addresses, known, err := s.DB.FormerConnections(ctx)
	switch {
	case err != nil:
		return nil, err
	case !known:
		lines = append(lines, upgradeLine{"former version", "unknown: mongos does not tell which processes are connected"})
	case len(addresses) == 0:
		lines = append(lines, upgradeLine{"former version", "no connection is seen"})
	}
	for _, address := range addresses {
		lines = append(lines, upgradeLine{"former version", "connected from " + address})
	}
	return lines, nil
}

func describePosition(p mongodb.UpgradePosition) string {
	if p.Collection == "" {
		return "no document was moved yet"
	}
	return fmt.Sprintf("in %s, after %s; %d documents moved", p.Collection, p.After, p.Moved)
}

// finishCmd ends the upgrade.
type finishCmd struct {
	Yes bool `help:"Finish without asking."`
}

func (f *finishCmd) run(ctx context.Context, s *session) (int, error) {
	state, err := s.UpgradeState(ctx)
	if err != nil {
		return exitFailed, err
	}
	if state == mongodb.UpgradeFinished {
		return exitOK, s.say("The upgrade is finished already.")
	}
	addresses, known, err := s.DB.FormerConnections(ctx)
	if err != nil {
		return exitFailed, err
	}
	if len(addresses) > 0 {
		return exitFailed, fmt.Errorf("nothing was changed: processes of the former version are connected from %s; stop them, and run it again",
			strings.Join(addresses, ", "))
	}
	if !f.Yes {
		if err := s.confirmFinish(known); err != nil {
			return exitFailed, err
		}
	}
	err = s.FinishUpgrade(ctx, func(p mongodb.UpgradePosition) {
		s.Log.InfoContext(ctx, "Moving the fields of the former version", slog.String("collection", p.Collection),
			slog.Any("after", p.After), slog.Int64("moved", p.Moved))
	})
	if errors.Is(err, core.ErrUpgraded) { // another command has finished it
		return exitOK, s.say("The upgrade is finished already.")
	}
	if err != nil {
		return exitFailed, fmt.Errorf("the upgrade is not finished yet, and running it again goes on: %w", err)
	}
	return exitOK, s.say("The upgrade is finished.")
}

func (s *session) say(text string) error {
	if s.out.format == formatJSON {
		return s.out.printJSON(upgradeLine{"upgrade", text}, "  ")
	}
	_, err := fmt.Fprintln(s.out.w, text)
	return err
}

// confirmFinish asks, because processes of the former version can't be excluded: they have no
// heartbeat, and one that is cut off or suspended may come back.
func (s *session) confirmFinish(known bool) error {
	seen := "No process of the former version is seen, but one that is cut off, or uses another user of MongoDB, would not be."
	if !known {
		seen = "Behind mongos, processes of the former version can't be seen."
	}
	_, err := fmt.Fprintf(s.errs, "%s\nFrom here on MongoDB refuses the former version, and there is no way back to it. "+
		"Has every process of it stopped? [yes/no] ", seen)
	if err != nil {
		return err
	}
	return s.awaitYes("nothing was changed")
}
