package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/client"
)

// The columns of a file with sales.
const (
	colSeat             = "seat"
	colSection          = "section"
	colSeats            = "seats"
	colAccessible       = "accessibleSeats"
	colHolder           = "holder"
	colEmail            = "email"
	colReference        = "reference"
	colPaymentReference = "paymentReference"
	colPaymentPart      = "paymentPart"
	colProvider         = "provider"
	colAmount           = "amount"
	colCurrency         = "currency"
)

// salesColumns are all columns. The keys of rows are made in this order, so that a file whose columns were moved is the same.
var salesColumns = []string{
	colSeat, colSection, colSeats, colAccessible, colHolder, colEmail, colReference, colPaymentReference, colPaymentPart, colProvider,
	colAmount, colCurrency,
}

// maxSalesBytes is several times what the sales of the largest hall take. The file is in memory, so that it is checked before
// the first sale.
const maxSalesBytes = 64 << 20

// salesFile is a CSV file of sales that can be read as a whole.
type salesFile struct {
	name    string // base name
	text    []byte
	columns []string // by position
	total   int      // rows that are not blank
}

// read reads the file, and checks that it is CSV with columns that can be used. code is the exit code if it is not.
func (c *importSalesCmd) read() (f *salesFile, code int, err error) {
	if c.File == standardStream {
		return nil, exitUsage, errors.New("give the name of a file: the keys of its rows are made of it")
	}
	file, err := os.Open(c.File)
	if err != nil {
		return nil, exitFailed, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSalesBytes+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, exitFailed, err
	}
	if f, err = newSalesFile(filepath.Base(c.File), text); err != nil {
		return nil, exitUsage, fmt.Errorf("%s: %w; nothing was sold", c.File, err)
	}
	return f, exitOK, nil
}

func newSalesFile(name string, text []byte) (*salesFile, error) {
	switch {
	case len(text) > maxSalesBytes:
		return nil, fmt.Errorf("the file has more than %d bytes: import it in several files", maxSalesBytes)
	case !utf8.Valid(text):
		return nil, errors.New("the text is not UTF-8: save the file as CSV in UTF-8")
	}
	f := &salesFile{name: name, text: bytes.TrimPrefix(text, []byte("\ufeff"))}
	r := f.reader()
	header, err := r.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty: its first line must have the names of the columns")
	case err != nil:
		return nil, err
	}
	for _, column := range header {
		f.columns = append(f.columns, strings.TrimSpace(column))
	}
	if err := f.checkColumns(); err != nil {
		return nil, err
	}
	return f, f.read(r, func(int, []string) error {
		f.total++
		return nil
	})
}

// checkColumns refuses columns with which no row could be sold, and those whose meaning is not known.
func (f *salesFile) checkColumns() error {
	has := func(column string) bool { return slices.Contains(f.columns, column) }
	for n, column := range f.columns {
		switch {
		case !slices.Contains(salesColumns, column):
			return fmt.Errorf("there is no column %q: use %s", column, strings.Join(salesColumns, ", "))
		case slices.Contains(f.columns[:n], column):
			return fmt.Errorf("the column %s is there twice", column)
		}
	}
	for _, needs := range []struct{ column, other string }{
		{colSection, colSeats}, {colAccessible, colSeat}, {colPaymentPart, colPaymentReference}, {colProvider, colPaymentReference},
		{colAmount, colPaymentReference}, {colCurrency, colPaymentReference},
	} {
		if has(needs.column) && !has(needs.other) {
			return fmt.Errorf("the column %s needs the column %s", needs.column, needs.other)
		}
	}
	switch {
	case !has(colSeat) && !has(colSeats):
		return errors.New("the seats are missing: give the column seat, or section and seats, or seats for an event without a seating plan")
	case !has(colHolder) && !has(colEmail):
		return errors.New("the customers are missing: give the column holder, or email of users")
	default:
		return nil
	}
}

func (f *salesFile) reader() *csv.Reader {
	r := csv.NewReader(bytes.NewReader(f.text))
	r.FieldsPerRecord = -1
	first, _, _ := bytes.Cut(f.text, []byte("\n"))
	for _, separator := range ";\t" { // as spreadsheets write CSV where a comma is in numbers
		if !bytes.ContainsRune(first, ',') && bytes.ContainsRune(first, separator) {
			r.Comma = separator
		}
	}
	return r
}

// read reads the rows that are not blank, with the numbers of their lines.
func (f *salesFile) read(r *csv.Reader, row func(line int, cells []string) error) error {
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		if isBlank := !slices.ContainsFunc(cells, func(cell string) bool { return strings.TrimSpace(cell) != "" }); isBlank {
			continue
		}
		if err := row(line, cells); err != nil {
			return err
		}
	}
}

// saleRow is a row of a file.
type saleRow struct {
	line    int
	request client.SaleRequest
	email   string                 // of the user; "" for a holder
	user    func() (string, error) // finds the user; nil for a holder
	problem string                 // why the row can't be sold; "" if it can be asked for
}

// each passes the rows, in order.
func (f *salesFile) each(do func(saleRow) error) error {
	r := f.reader()
	if _, err := r.Read(); err != nil { // the header
		return err
	}
	occurrences := map[[sha256.Size]byte]uint32{}
	return f.read(r, func(line int, cells []string) error {
		content := sha256.Sum256(f.content(cells))
		occurrences[content]++
		row := f.row(cells)
		row.line, row.request.IdempotencyKey = line, f.key(content, occurrences[content])
		return do(row)
	})
}

// content is what a row asks for, without regard to the order of the columns.
func (f *salesFile) content(cells []string) (text []byte) {
	for n, column := range salesColumns {
		i := slices.Index(f.columns, column)
		if i >= 0 && i < len(cells) && cells[i] != "" {
			text = append(text, byte(n))
			text = binary.AppendUvarint(text, uint64(len(cells[i])))
			text = append(text, cells[i]...)
		}
	}
	return text
}

// key is the idempotency key of a row.
func (f *salesFile) key(content [sha256.Size]byte, occurrence uint32) string {
	text := binary.BigEndian.AppendUint32(content[:], occurrence)
	sum := sha256.Sum256(append(text, f.name...))
	return "sale-" + hex.EncodeToString(sum[:])
}

// row reads the request of a row, or what is wrong with it. What the API checks is left to it.
func (f *salesFile) row(cells []string) (row saleRow) {
	if len(cells) != len(f.columns) {
		return saleRow{problem: fmt.Sprintf("the row has %d cells, and the header has %d columns", len(cells), len(f.columns))}
	}
	cell := func(column string) string {
		if i := slices.Index(f.columns, column); i >= 0 {
			return cells[i]
		}
		return ""
	}
	number := func(column string) *int64 {
		text := strings.TrimSpace(cell(column))
		if text == "" {
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			row.problem = fmt.Sprintf("%s: %q is not a whole number", column, text)
		}
		return &n
	}
	seats, accessible, amount := number(colSeats), number(colAccessible), number(colAmount)
	named, section := strings.Fields(cell(colSeat)), strings.TrimSpace(cell(colSection))
	switch {
	case row.problem != "":
		return row
	case (seats == nil) == (len(named) == 0), section != "" && seats == nil:
		return saleRow{problem: "give seat, or section with seats, or seats alone"}
	case (cell(colHolder) == "") == (cell(colEmail) == ""):
		return saleRow{problem: "give holder or email"}
	}
	row.email, row.request = cell(colEmail), client.SaleRequest{
		Holder: cell(colHolder), Wish: client.Wish{Section: section},
		Charge: client.Charge{
			Reference: cell(colPaymentReference), Part: cell(colPaymentPart), Provider: cell(colProvider), Amount: amount,
			Currency: cell(colCurrency),
		},
		ShopData: client.ShopData{Reference: cell(colReference)},
	}
	if seats != nil {
		row.request.Seats = *seats
	} else {
		row.request.SeatIDs = named
	}
	if accessible != nil {
		row.request.AccessibleSeats = *accessible
	}
	return row
}
