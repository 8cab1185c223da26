// Package pretix reads seating plans in the format that pretix publishes, and that its editor and
// other software write.
//
// A zone becomes a section, a row a row, a seat a seat; the positions of zone, row and seat are
// added up. Areas, texts and whatever is for drawing alone are left out, and the report counts
// them.
//
//   - A zone's key is made of its zone_id, or else its name. A row's key is its row_number, and its
//     label the row_label (in which %s is the row_number), or else the row_number. Rows of a zone
//     with the same row_number are different rows, as in their source.
//   - A seat's ID is its seat_guid, and its label the seat_number. A category's key is made of its
//     name, which is what seats name it by.
//   - Keys and IDs that are not valid, or there twice, are replaced as convert.Keys says.
//
// The format does not say which seats are neighbours. Options.AsListed takes the rows as they are
// listed. Otherwise both of these are guessed from the positions, and the report says where:
//
//   - Where the seats of a row are listed in another order than they stand, such as by number with
//     odd numbers on the left and even ones on the right, they are put in the order in which they stand.
//     Seats around a table are not: they stand in no row.
//   - A gap is where two neighbours are further apart than 1.6 times the row's usual distance, which
//     is the median. A row of two seats has no usual distance.
package pretix
