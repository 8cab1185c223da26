package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/core"
)

// maxNamed bounds the documents that doctor names for each fault.
const maxNamed = 5

// checkCorrupt finds documents that break the schema of their collection. Sums leave them out, so this check precedes the
// check of the data.
func checkCorrupt(ctx context.Context, s *session) (found []finding) {
	const what = "corrupt documents"
	result, err := s.Corrupt.Look(ctx)
	if err != nil {
		return failedCheck(what, err)
	}
	type fault struct{ collection, why string }
	var faults []fault
	with := map[fault][]core.CorruptDocument{}
	for _, d := range result.Documents {
		f := fault{d.Collection, d.Why}
		if with[f] == nil {
			faults = append(faults, f)
		}
		with[f] = append(with[f], d)
	}
	for _, f := range faults {
		all := with[f]
		var names []string
		for _, d := range all[:min(maxNamed, len(all))] {
			names = append(names, d.Name())
		}
		named := strings.Join(names, ", ")
		if more := len(all) - maxNamed; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		detail := fmt.Sprintf("%d of %s in %s: %s: %s", len(all), result.Count(f.collection), f.collection, f.why, named)
		found = append(found, problem(what, detail,
			"correct that in "+f.collection+", or remove the document, then run seatctl recover").counted(int64(len(all))))
	}
	if len(found) == 0 {
		found = append(found, ok(what, "none"))
	}
	return found
}
