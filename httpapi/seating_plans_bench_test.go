package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// hallOf returns the JSON of a plan of as many seats, in sections of 2,000, each seat with a position.
func hallOf(seats int) string {
	const sectionSeats, rowSeats = 2_000, 50
	var b strings.Builder
	b.WriteString(`{"name":"Stadium","categories":[{"key":"c","name":"C"}],"sections":[`)
	for s := range seats / sectionSeats {
		fmt.Fprintf(&b, `%s{"key":"S%d","name":"S","category":"c","rows":[`, comma(s), s)
		for r := range sectionSeats / rowSeats {
			fmt.Fprintf(&b, `%s{"key":"%d","seats":[`, comma(r), r)
			for i := range rowSeats {
				fmt.Fprintf(&b, `%s{"id":"S%d-%d-%d","label":"%d","x":%d.25,"y":%d.5}`, comma(i), s, r, i, i+1, i, r)
			}
			b.WriteString("]}")
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.String()
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// What a plan of 100,000 seats costs through HTTP.
func BenchmarkSeatingPlan100000(b *testing.B) {
	s := open(b)
	text := hallOf(100_000)
	id := ""
	b.Run("create", func(b *testing.B) {
		for b.Loop() {
			id = s.in(b).want(s.call("POST", plansPath, text), 201, "").text("id")
		}
		b.ReportMetric(float64(len(text)), "bytes")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.server.URL+plansPath+"/"+id, nil)
			if err != nil {
				b.Fatal(err)
			}
			response, err := s.client.Do(request)
			if err != nil {
				b.Fatal(err)
			}
			n, err := io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK {
				b.Fatal(response.StatusCode, err)
			}
			b.ReportMetric(float64(n), "bytes")
		}
	})
}
