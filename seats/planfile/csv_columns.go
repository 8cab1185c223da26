package planfile

import "strings"

// Columns of a table, in the order in which they are written.
const (
	colSection = iota
	colRow
	colSeat
	colCategory
	colX
	colY
	colAccessible
	colID
	colSectionName
	colRowLabel
	colCategoryName
	colCapacity
	colAdjacency
	colCompanion
	colRestrictedView
	colNote
	colViewURL
	colSectionCategory
	colCategoryNumber
	colStart
	colEnd
	columnCount
)

// usualColumns are the columns that WriteCSV always writes.
const usualColumns = colAccessible + 1

var columnNames = [columnCount]string{
	"section", "row", "seat", "category", "x", "y", "accessible", "id", "section_name", "row_label", "category_name", "capacity",
	"adjacency", "companion", "restricted_view", "note", "view_url", "section_category", "category_number",
	"start", "end",
}

var requiredColumns = []int{colSection, colRow, colSeat, colCategory}

// plainName is the normalized name of a column: Restricted View becomes restricted_view.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.TrimSpace(name)))
}

// cells are a line of a table; a column that the table does not have is blank.
type cells [columnCount]string

// only reports whether no other columns than these have a text.
func (c *cells) only(columns ...int) bool {
	filled := 0
	for _, column := range columns {
		if c[column] != "" {
			filled++
		}
	}
	for _, text := range c {
		if text != "" {
			filled--
		}
	}
	return filled == 0
}
