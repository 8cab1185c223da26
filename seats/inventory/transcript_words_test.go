package inventory_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The words of a transcript are the fields of a command, a document or a write: name=value, or the name alone if the field is true. The
// status and the ID of the thing itself need no name. A nested struct has its words in brackets.

// fieldNames are those that differ from the field's.
var fieldNames = map[string]string{
	"ID": "id", "SeatIDs": "named", "ExpiresAt": "until", "At": "until", "TotalSeats": "total", "AvailableSeats": "available",
	"MaxSeatsPerUser": "limit", "Revision": "rev", "PaymentExpiresAt": "window", "PaymentReference": "reference",
	"ShopData.Reference": "ref", "ShopDataChange.Reference": "ref",
	"DoneRequest.ID": "command", "DoneRequest.KeyHash": "key", "DoneRequest.At": "at", "ChangeBooking.RefundID": "refundPart",
	"RequestHash": "hash", "Policy": "latePayments", "Seconds": "lateSeconds", "EventDate": "date", "RefundReference": "refund",
	"Waitlist.Status": "waitlist", "Waitlist.Fit": "waitlistFit",
}

func nameOf(of reflect.Type, field string) string {
	if name := cmp.Or(fieldNames[of.Name()+"."+field], fieldNames[field]); name != "" {
		return name
	}
	name := strings.TrimSuffix(field, "ID")
	if plural, ok := strings.CutSuffix(field, "IDs"); ok {
		name = plural + "s"
	}
	return string(unicode.ToLower(rune(name[0]))) + name[1:]
}

// idNames are the IDs that a transcript can name.
var idNames = func() map[string]ID {
	names := map[string]ID{"event": eventID, "another-event": otherID, "alice": alice, "bob": bob}
	for n := range 1000 {
		names[fmt.Sprint("L", n)], names[fmt.Sprint("B", n)], names[fmt.Sprint("plan", n)] = lockID(n), bookingID(n), planNumber(n)
		names[fmt.Sprint("C", n)], names[fmt.Sprint("R", n)], names[fmt.Sprint("E", n)] = commandID(n), partID(n), entryID(n)
	}
	for _, reference := range []string{"paid", "other", "another"} {
		names["payment:"+reference] = paymentIDOf("default", reference, "")
		names["payment:"+reference+":2"] = paymentIDOf("default", reference, "2")
	}
	names["carol"], names["guest"], names["cart"] = userID(3), holdfast.HolderID("guest"), holdfast.HolderID("cart")
	return names
}()

var namesOfIDs = func() map[ID]string {
	names := map[ID]string{}
	for name, id := range idNames {
		names[id] = name
	}
	return names
}()

var timeType = reflect.TypeFor[time.Time]()

// words are what a struct says. Fields that are zero are left out, and what is expected: the event, the customer Alice, the time of the
// decision, and the hash of a request for just these seats.
func (tr *transcript) words(v reflect.Value) []string {
	var first, words []string
	usual := []any{eventID, alice, tr.store.now, begin.Add(-minutes(5)), begin.Add(-minutes(1)), "Show", holdfast.DefaultProvider}
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		lock, isLock := v.Interface().(holdfast.Lock)
		_, isWaitlist := v.Interface().(holdfast.Waitlist)
		switch f.Name {
		case "Maps":
			continue
		case "HasBegun", "Waiting", "Holds":
			if isWaitlist { // its list says them
				continue
			}
		case "Hash": // of a change after the sale: a repeat shows it
			continue
		case "ID", "EventID", "UserID", "CreatedAt", "UpdatedAt", "Name", "Provider", "At":
			if slices.Contains(usual, value.Interface()) && v.Type() != reflect.TypeFor[inventory.Confirm]() {
				continue
			}
			if value.IsZero() && (isLock || v.Type() == reflect.TypeFor[holdfast.Booking]() || v.Type() == reflect.TypeFor[holdfast.Payment]()) {
				words = append(words, nameOf(v.Type(), f.Name)+"=none")
			}
		case "RequestHash":
			switch {
			case !isLock:
			case value.String() == hashOf(lock):
				continue
			case value.IsZero() && lock.Key != "":
				words = append(words, "hash=none")
			}
		}
		switch {
		case value.IsZero(), value.Kind() == reflect.Slice && value.Len() == 0:
		case f.Name == "IfUnchanged":
			words = append(words, "if-unchanged")
		case f.Name == "Status" && !isWaitlist || f.Name == "ID" && f.Type == reflect.TypeFor[ID]():
			first = append(first, tr.text(value))
		case f.Type.Kind() == reflect.Struct && f.Type != timeType:
			words = append(words, tr.words(value)...)
		case f.Type.Kind() == reflect.Bool:
			words = append(words, nameOf(v.Type(), f.Name))
		default:
			words = append(words, nameOf(v.Type(), f.Name)+"="+tr.text(value))
		}
	}
	return append(first, words...)
}

func (tr *transcript) text(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case ID:
		if name := namesOfIDs[value]; name != "" {
			return name
		}
	case time.Time:
		if value.IsZero() {
			return "none"
		}
		if value.Equal(begin) {
			return "now"
		}
		return strings.Replace("+"+length(value.Sub(begin)), "+-", "-", 1)
	case time.Duration:
		return length(value)
	case inventory.LockGuard:
		return []string{"", "is-due", "at-revision", "live-at-revision"}[value]
	}
	switch v.Kind() {
	case reflect.Pointer:
		return tr.text(v.Elem())
	case reflect.Struct:
		return "(" + strings.Join(tr.words(v), " ") + ")"
	case reflect.Map:
		var items []string
		for key, value := range v.Seq2() {
			items = append(items, key.String()+"="+tr.text(value))
		}
		slices.Sort(items)
		return "(" + strings.Join(items, " ") + ")"
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = tr.text(v.Index(i))
		}
		return strings.Join(items, ",")
	case reflect.String:
		if strings.ContainsAny(v.String(), " ,()") {
			return strconv.Quote(v.String())
		}
	}
	return fmt.Sprint(v.Interface())
}

// length is a duration without the parts that are zero at its end.
func length(d time.Duration) string {
	text := d.String()
	if d%time.Minute == 0 {
		text = strings.TrimSuffix(text, "0s")
	}
	if d%time.Hour == 0 {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// split cuts a text at a separator that is neither in brackets nor in quotes.
func split(text string, separator rune) []string {
	depth, quoted := 0, false
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '"':
			quoted = !quoted
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == separator && depth == 0 && !quoted
	})
}

// fill sets the fields that a text names.
func (tr *transcript) fill(v reflect.Value, text string) {
	tr.Helper()
	for _, word := range split(text, ' ') {
		name, value, hasValue := strings.Cut(word, "=")
		field := fieldOf(v, name)
		switch {
		case hasValue || field.IsValid():
		case word == strings.ToUpper(word) && !isID(word):
			field, value = fieldOf(v, "status"), word
		default:
			field, value = fieldOf(v, "id"), word
		}
		if !field.IsValid() {
			tr.Fatalf("%s has nothing that is called %q", v.Type(), word)
		}
		if err := set(tr, field, value); err != nil {
			tr.Fatalf("%s: %v", word, err)
		}
	}
}

func isID(word string) bool { _, known := idNames[word]; return known }

func fieldOf(v reflect.Value, name string) (found reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Type().Field(i); {
		case f.Type.Kind() == reflect.Struct && f.Type != timeType:
			if found = fieldOf(v.Field(i), name); found.IsValid() {
				return found
			}
			if !f.Anonymous && nameOf(v.Type(), f.Name) == name {
				return v.Field(i)
			}
		case f.IsExported() && nameOf(v.Type(), f.Name) == name:
			return v.Field(i)
		}
	}
	return found
}

func set(tr *transcript, v reflect.Value, text string) (err error) {
	tr.Helper()
	switch field := v.Addr().Interface().(type) {
	case *ID:
		if *field = idNames[text]; !isID(text) {
			return fmt.Errorf("%q is not an ID", text)
		}
		return nil
	case *time.Time:
		if text == "none" {
			*field = time.Time{}
			return nil
		}
		d, err := time.ParseDuration(strings.Replace(text, "now", "0", 1))
		*field = begin.Add(d)
		return err
	case *time.Duration:
		*field, err = time.ParseDuration(text)
		return err
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return set(tr, v.Elem(), text)
	case reflect.Struct:
		tr.fill(v, strings.Trim(text, "()"))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, word := range split(strings.Trim(text, "()"), ' ') {
			key, value, hasValue := strings.Cut(word, "=")
			item := reflect.New(v.Type().Elem()).Elem()
			if hasValue {
				if err := set(tr, item, value); err != nil {
					return err
				}
			}
			v.SetMapIndex(reflect.ValueOf(key), item)
		}
	case reflect.Slice:
		items := split(text, ',')
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
		for i, item := range items {
			if err := set(tr, v.Index(i), item); err != nil {
				return err
			}
		}
	case reflect.String:
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		}
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		v.SetInt(n)
		return err
	}
	return nil
}
