// Package planfile reads a seating plan from a file in any of the formats that operators have: the
// JSON of the API, a table of seats, or pretix's format. It writes the first two. It is pure, like
// package seating, and deterministic: the same source gives the same keys and the same report.
//
// # JSON
//
// It is the body of POST /api/seating-plans. Reading is strict: keys are exact, and each problem has
// the path of the invalid value. The form is the type Plan.
//
// # Tables of seats
//
// A line is a seat, in the order in which the seats stand. The columns have names, and any order:
//
//	section,row,seat,category,x,y,accessible
//	Stalls,A,1,first,10,20,
//	Stalls,A,2,first,11,20,yes
//
// The columns section, row, seat and category are required, unless Options.Category is the category of all seats.
// A table of ranges has start and end instead of seat, the first and the last number of its seats, and may
// call its sections zone. Sections, rows and categories are in
// the order of their first lines, and the lines of a row need not follow each other. A text that
// is a valid key is the key. From any other text a key is made, which the report lists.
//
// A seat's ID is <section>-<row>-<seat>, of the keys and the cell, and its label is the cell. A cell
// that begins with <section>-<row>- is the ID itself, and its label the rest.
//
// A line with a section and a row and nothing else is a gap, such as an aisle.
//
// More columns are optional, and WriteCSV adds those that a plan needs: id (of a seat, if it differs from
// the one above), section_name, row_label, category_name, adjacency (of the row), companion,
// restricted_view, note and view_url (of the seat), section_category (of the section itself, if it is another one
// than that of its first seat), category_number (the order of the categories, if it is another one
// than that of their first lines), and capacity: a line with a section, a category and a capacity is
// a section for general admission. A value of a section, a row or a category must be on
// one of its lines, or the same on several. Columns with other names are left out, and the report
// names them; one of them may say which seats are accessible (Options.Accessible).
//
// Read accepts the output of spreadsheets: a byte order mark, semicolons or tabs as separators, lines that
// end with CRLF or CR, lines without text, and decimal commas if the separator is not a comma.
//
// # The format of pretix
//
// It is the format that pretix publishes, and that its editor and other software write.
//
// A zone becomes a section, a row a row, a seat a seat; the positions of zone, row and seat are
// added up. Areas, texts and all fields that are only for drawing are left out, and the report counts
// them. It names each property that the format does not have; one of them may say which seats are accessible
// (Options.Accessible). Seats without a category get Options.Category.
//
//   - A zone's key is made of its zone_id, or else its name. A row's key is its row_number, and its
//     label the row_label (in which %s is the row_number), or else the row_number. Rows of a zone
//     with the same row_number are different rows, as in their source.
//   - A seat's ID is its seat_guid, and its label the seat_number. A category's key is made of its
//     name, which is what seats name it by.
//   - Keys and IDs that are not valid, or occur twice, are replaced by the rules of keysOf.
//
// # Neighbours
//
// Plans of pretix, and tables whose rows have positions but neither gaps nor an adjacency, are arranged: the rows
// are put in the order in which their seats stand. Options.AsListed takes them as they are listed. A row that
// stands as it is listed, straight or on an arc, stays as it is. The report names each of the others:
//
//   - Where a row doubles back or has two sides, such as odd numbers on one side of a bench and even ones on the
//     other, each line becomes a row. The first keeps the row's key.
//   - Up to 20 seats around a table are a row whose adjacency is ALL.
//   - Where the seats of a row are listed in another order than they stand, such as by number with
//     odd numbers on the left and even ones on the right, they are put in the order in which they stand.
//   - A gap is where two neighbours are further apart than 1.6 times the row's usual distance, which
//     is the median. A row of two seats has no usual distance. Rows of a table get gaps only where they
//     are put in another order.
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package planfile
