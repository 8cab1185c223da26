package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// changesFollower reads the list of changes page by page while faults are injected, from one API and then from
// another, as a shop does that keeps the last token.
type changesFollower struct {
	*clients
	apis []string // addresses of the processes, without proxies
	http http.Client

	from  changes.Position // the first page
	token string           // of the next page
	told  []string         // IDs of changes
	tries int
}

// followTimeout bounds one page, and followInterval passes after the last page or a failure.
const (
	followTimeout  = 5 * time.Second
	followInterval = 100 * time.Millisecond
)

// followChanges follows the changes from now on. The result stops it.
func (c *clients) followChanges(cl *cluster) (f *changesFollower, stop func()) {
	c.t.Helper()
	f = &changesFollower{clients: c}
	for _, name := range apiNames {
		f.apis = append(f.apis, cl.nodes[name].addr)
	}
	found, err := findAll[struct {
		Last int64 `bson:"last"`
	}](cl.env, mongodb.MetaCollection, mongodb.Is("_id", "changes"))
	if err != nil {
		c.t.Fatal(err)
	}
	f.from = changes.Position{Seq: 1}
	if len(found) > 0 {
		f.from.Seq += found[0].Last
	}
	f.token = f.from.Token()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if more, err := f.next(ctx); err != nil {
				f.violation("changes", "%v", err)
				return
			} else if !more {
				delay(ctx, followInterval)
			}
		}
	})
	return f, func() {
		cancel()
		running.Wait()
	}
}

// next reads a page. more is false at the end of the list, or if there was no answer. An error is a violation.
func (f *changesFollower) next(ctx context.Context) (more bool, err error) {
	api := f.apis[f.tries%len(f.apis)]
	f.tries++
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("http://%s/api/changes?pageSize=50&pageToken=%s", api, url.QueryEscape(f.token)), http.NoBody)
	if err != nil {
		return false, err
	}
	response, err := f.http.Do(request)
	if err != nil {
		return false, nil //nolint:nilerr // the process may be down
	}
	defer closeQuietly(response.Body)
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil, response.StatusCode >= http.StatusInternalServerError:
		return false, nil //nolint:nilerr // the process or its database may be down
	case response.StatusCode != http.StatusOK:
		return false, fmt.Errorf("%w: %s: %d %s", errNotListed, api, response.StatusCode, body)
	}
	var page struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
		NextPageToken string `json:"nextPageToken"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return false, err
	}
	for _, item := range page.Items {
		f.told = append(f.told, item.ID)
	}
	more = f.token != page.NextPageToken
	f.token = page.NextPageToken
	return more, nil
}

// errNotListed says that a list of changes was refused.
var errNotListed = mongodb.AbortError("the changes are not listed")

// check asserts that the follower got every change, once and in the order of the list, whatever happened to the processes
// and the database meanwhile. Changes that follow while it is checked may be missing.
func (f *changesFollower) check(env *testenv.Env) {
	var want []string
	for at := f.from; ; {
		found, next, err := env.Changes.List(context.Background(), &at, changes.Filter{}, 500)
		if err != nil {
			f.violation("changes", "%v", err)
			return
		}
		for _, c := range found {
			want = append(want, c.ID())
		}
		if next == at {
			break
		}
		at = next
	}
	for deadline := time.Now().Add(resumeTimeout); len(f.told) < len(want) && time.Now().Before(deadline); {
		more, err := f.next(context.Background())
		if err != nil {
			f.violation("changes", "%v", err)
			return
		}
		if !more {
			delay(context.Background(), followInterval)
		}
	}
	if got := f.told[:min(len(f.told), len(want))]; !slices.Equal(got, want) {
		at := 0
		for at < len(got) && got[at] == want[at] {
			at++
		}
		f.violation("changes", "the %d-th change of %d was not told: the follower has %d, behind %v comes %v",
			at, len(want), len(f.told), got[max(0, at-1):at], got[at:min(len(got), at+1)])
	}
}
