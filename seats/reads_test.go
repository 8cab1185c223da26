package seats

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast"
)

// Callers that come while a read is in flight share the next one: they get nothing that was read before
// they came, and all of them together need one read.
func TestReads_AreSharedByThoseThatComeBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared reads[string, int]
		began, goOn := 0, make(chan struct{})
		find := func(context.Context) (int, error) {
			began++
			n := began
			<-goOn
			return n, nil
		}
		first, later := make(chan int, 1), make(chan int, 10)
		ask := func(got chan<- int) {
			n, err := shared.get(t.Context(), "event", find)
			if err != nil {
				t.Error(err)
			}
			got <- n
		}
		go ask(first)
		synctest.Wait()
		for range 10 {
			go ask(later)
		}
		synctest.Wait()
		left, leave := context.WithCancel(t.Context())
		leave()
		if _, err := shared.get(left, "event", find); err == nil {
			t.Error("a caller that left has a value")
		}
		close(goOn)
		synctest.Wait()
		if n := <-first; n != 1 {
			t.Errorf("the first caller got read %d", n)
		}
		for range 10 {
			if n := <-later; n != 2 {
				t.Errorf("a later caller got read %d, want 2", n)
			}
		}
		if began != 2 || len(shared.waiting) != 0 {
			t.Errorf("%d reads, %d are remembered", began, len(shared.waiting))
		}
	})
}

// A panic fails the read that it happens in. The callers that come meanwhile get the next read.
func TestReads_APanicFailsItsReadAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared reads[string, int]
		goOn := make(chan struct{})
		first, next := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := shared.get(t.Context(), "event", func(context.Context) (int, error) {
				<-goOn
				panic(holdfast.NotFound(holdfast.CodeEventNotFound))
			})
			first <- err
		}()
		synctest.Wait()
		go func() {
			n, err := shared.get(t.Context(), "event", func(context.Context) (int, error) { return 7, nil })
			if n != 7 {
				t.Errorf("the next read found %d", n)
			}
			next <- err
		}()
		synctest.Wait()
		close(goOn)
		if err := <-first; err == nil || holdfast.CodeOf(err) != "" { // a panic must not be an answer
			t.Errorf("the read that panicked: %v", err)
		}
		if err := <-next; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(shared.waiting) != 0 {
			t.Errorf("%d reads are remembered", len(shared.waiting))
		}
	})
}

// A read has the values of a caller that it is for, and not of a caller that has its answer. It goes on if
// that caller leaves.
func TestReads_HaveTheValuesOfTheirCallers(t *testing.T) {
	type name struct{}
	synctest.Test(t, func(t *testing.T) {
		var shared reads[string, any]
		goOn := make(chan struct{})
		find := func(ctx context.Context) (any, error) {
			<-goOn
			return ctx.Value(name{}), ctx.Err()
		}
		ask := func(ctx context.Context, caller string) <-chan any {
			got := make(chan any, 1)
			go func() {
				value, err := shared.get(context.WithValue(ctx, name{}, caller), "event", find)
				if err != nil && ctx.Err() == nil {
					t.Errorf("%s: %v", caller, err)
				}
				got <- value
			}()
			synctest.Wait()
			return got
		}
		first := ask(t.Context(), "first")
		left, leave := context.WithCancel(t.Context())
		ask(left, "second")
		third := ask(t.Context(), "third")
		leave()
		synctest.Wait()
		close(goOn)
		if got := <-first; got != "first" {
			t.Errorf("the first read is of %v", got)
		}
		if got := <-third; got != "second" {
			t.Errorf("the next read is of %v", got)
		}
	})
}
