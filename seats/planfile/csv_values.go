package planfile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
)

// coordinate reads a number with at most three digits behind the point, more are rounded; nil if
// the cell is blank.
func (r *csvReader) coordinate(cell string, line, column int, separator rune) *holdfast.Thousandths {
	if cell == "" {
		return nil
	}
	number := cell
	if separator != ',' && !strings.Contains(number, ".") {
		number = strings.Replace(number, ",", ".", 1)
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil && !math.IsInf(f, 0) || strings.Trim(number, "0123456789+-.eE") != "" {
		r.problem(line, "The %s %s is not a number.", columnNames[column], quoted(cell))
		return nil
	}
	const tooLarge = float64(holdfast.MaxPlanCoordinate + 1)
	return new(holdfast.Thousandths(max(-tooLarge, min(math.Round(f*float64(holdfast.Unit)), tooLarge))))
}

var bools = map[string]bool{
	"": false, "false": false, "no": false, "n": false, "0": false, "true": true, "yes": true, "y": true, "1": true, "x": true,
}

func (r *csvReader) bool(cell string, line, column int) bool {
	value, known := bools[strings.ToLower(cell)]
	if !known {
		r.problem(line, "The column %s has %s, but must have true or false.", columnNames[column], quoted(cell))
	}
	return value
}

// quoted is a text of a source, for messages and the report.
func quoted(text string) string {
	const longest = 80
	if utf8.RuneCountInString(text) > longest {
		text = string([]rune(text)[:longest]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
