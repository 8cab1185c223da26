// Package plancsv reads and writes seating plans as tables of seats: a line a seat, in the order in
// which the seats stand. The columns have names, and any order:
//
//	section,row,seat,category,x,y,accessible
//	Stalls,A,1,first,10,20,
//	Stalls,A,2,first,11,20,yes
//
// The columns section, row, seat and category are required. Sections, rows and categories are in
// the order of their first lines, and the lines of a row need not follow each other. A text that
// is a valid key is the key; of another one, a key is made, and the report says so.
//
// A seat's ID is <section>-<row>-<seat>, of the keys and the cell, and its label is the cell. A cell
// that begins with <section>-<row>- is the ID itself, and its label the rest.
//
// A line with a section and a row and nothing else is a gap, such as an aisle.
//
// More columns are optional, and Write adds those that a plan needs: id (of a seat, if it is another
// than above), section_name, row_label, category_name, adjacency (of the row), companion,
// restricted_view, note (of the seat), section_category (of the section itself, if it is another one
// than that of its first seat), category_number (the order of the categories, if it is another one
// than that of their first lines), and capacity: a line with a section, a category and a capacity is
// a section for general admission. What belongs to a section, a row or a category is on
// one of its lines, or the same on several. Columns with other names are left out, and the report
// names them.
//
// What spreadsheets write is read: a byte order mark, semicolons or tabs as separators, lines that
// end with CRLF, lines without text, and decimal commas where the separator is none.
package plancsv
