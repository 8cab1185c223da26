package main

import (
	"path"
	"slices"

	"github.com/alecthomas/kong"
)

// Settings of several commands.
var (
	leaseSettings = []string{"JOB_LEASES", "LEASE_TTL", "REDIS_*"}
	runSettings   = append([]string{"POD_NAME", "DISABLE_CRONS_ON_REDIS_DOWN", "LOG_LEVEL", "LOG_FORMAT", "SWEEP_BATCH"}, leaseSettings...)
)

// settingsOf are the settings that a command uses, besides those of the database. They are
// patterns of path.Match.
var settingsOf = map[string][]string{
	"doctor":    append([]string{"LOCK_EXPIRY_INTERVAL", "*_MAX_DURATION", "ENDED_RETENTION", "SEAT_INDEX"}, leaseSettings...),
	"jobs":      append([]string{"*_INTERVAL", "ENDED_RETENTION"}, leaseSettings...),
	"leases":    leaseSettings,
	"recover":   append([]string{"RECOVERY_MAX_DURATION"}, runSettings...),
	"sweep":     append([]string{"LOCK_EXPIRY_MAX_DURATION", "BOOKING_EXPIRY_MAX_DURATION"}, runSettings...),
	"retention": append([]string{"ENDED_RETENTION", "ARCHIVE_AFTER"}, runSettings...),
}

// printHelp prints a command's own flags, then those of every command, then the settings that
// the command uses. Every setting is accepted by every command, because all have one environment.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	groupFlags(ctx.Model.Flags, ctx.Selected())
	options.FlagsLast = true
	return kong.DefaultHelpPrinter(options, ctx)
}

// groupFlags puts the flags of every command into groups, and hides the settings that a command, or nil for all, does not use.
func groupFlags(flags []*kong.Flag, chosen *kong.Node) {
	command := chosen
	for command != nil && command.Parent != nil && command.Parent.Parent != nil {
		command = command.Parent
	}
	var used []string
	if command != nil {
		used = settingsOf[command.Name]
	}
	used = append([]string{"MONGODB_*"}, used...)
	if isOffline(chosen) {
		used = nil
	}
	general := &kong.Group{Key: "general", Title: "Flags of every command:"}
	settings := &kong.Group{Key: "settings", Title: "Settings:"}
	for _, flag := range flags {
		if len(flag.Envs) == 0 {
			flag.Group = general
			continue
		}
		flag.Group = settings
		flag.Hidden = !slices.ContainsFunc(used, func(pattern string) bool {
			matched, err := path.Match(pattern, flag.Envs[0])
			return matched && err == nil
		})
	}
}

// isOffline reports whether a command, or each command of a group, uses no settings.
func isOffline(node *kong.Node) bool {
	if node == nil {
		return false
	}
	if len(node.Children) > 0 {
		return !slices.ContainsFunc(node.Children, func(child *kong.Node) bool { return !isOffline(child) })
	}
	_, is := node.Target.Addr().Interface().(offlineCommand)
	return is
}
