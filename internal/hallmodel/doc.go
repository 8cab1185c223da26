// Package hallmodel is a model of the seats of a hall, for tests. It finds the best available seats and the
// orphans of named ones by trying all of them, as the contract is written, and shares no code with package
// seating. It is for halls of a few dozen seats: the time grows with the subsets of a row.
package hallmodel
