package chaos_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// storms are what happens to those who serve; each heals what it did.
var storms = map[string]func(c *cast, dice *rand.Rand){
	"primary killed":               onPrimary("killed"),
	"primary dies alone":           diesAlone,
	"primary frozen":               onPrimary("frozen"),
	"primary stepped down":         onPrimary("stepped down"),
	"commits' replies lost":        onPrimary("losing replies of commits"),
	"MongoDB slow":                 onPrimary("slow"),
	"cut from the primary":         cutOff(true, true),
	"primary hears nothing":        cutOff(true, false),
	"primary is not heard":         cutOff(false, true),
	"API killed":                   killed("api"),
	"worker killed":                killed("worker"),
	"API frozen":                   frozen("api", 3*time.Second, 8*time.Second),
	"worker frozen":                frozen("worker", stormLease+time.Second, 3*stormLease),
	"API killed before it answers": killedAtReply,
	"Redis killed": func(c *cast, dice *rand.Rand) {
		c.redis.Kill()
		pause(context.Background(), time.Duration(500+dice.IntN(2500))*time.Millisecond)
		c.redis.Restart()
	},
	"Redis flushed": func(c *cast, dice *rand.Rand) {
		for range 3 {
			if err := testenv.RedisClient(c.t, c.redis.URL).FlushAll(context.Background()).Err(); err != nil {
				c.t.Error(err)
			}
			pause(context.Background(), time.Duration(200+dice.IntN(1500))*time.Millisecond)
		}
	},
	"Redis frozen": func(c *cast, dice *rand.Rand) {
		c.redis.Freeze()
		pause(context.Background(), time.Duration(1000+dice.IntN(4000))*time.Millisecond)
		c.redis.Wake()
	},
	"two sweepers": twoSweepers,
}

// onPrimary is a fault of the histories in one process; see faults.
func onPrimary(name string) func(*cast, *rand.Rand) {
	return func(c *cast, dice *rand.Rand) {
		primary := primaryOf(c.t, c.set)
		faults[name](c.t, c.set, primary, dice)
		primaryOf(c.t, c.set)
	}
}

// diesAlone freezes the other members, and kills the primary before it notices: what
// it took in between, nobody else has.
func diesAlone(c *cast, dice *rand.Rand) {
	primary := primaryOf(c.t, c.set)
	others := func(s syscall.Signal) {
		for _, m := range c.set.Members {
			if m != primary {
				send(c.t, m, s)
			}
		}
	}
	others(syscall.SIGSTOP)
	pause(context.Background(), time.Duration(500+dice.IntN(1000))*time.Millisecond)
	primary.Kill()
	others(syscall.SIGCONT)
	pause(context.Background(), time.Second)
	if err := primary.Restart(); err != nil {
		c.t.Error(err)
	}
	primaryOf(c.t, c.set)
}

// cutOff loses what our processes say to the primary, or what it says to them.
// The set itself goes on: no other primary is elected.
func cutOff(deaf, mute bool) func(*cast, *rand.Rand) {
	return func(c *cast, dice *rand.Rand) {
		way := c.front[primaryOf(c.t, c.set).Host]
		way.lose(deaf, mute)
		pause(context.Background(), time.Duration(1000+dice.IntN(4000))*time.Millisecond)
		way.heal()
	}
}

func oneOf(program string, dice *rand.Rand) string {
	return program + []string{"-0", "-1"}[dice.IntN(2)]
}

func killed(program string) func(*cast, *rand.Rand) {
	return func(c *cast, dice *rand.Rand) {
		for range 2 {
			name := oneOf(program, dice)
			c.kill(name)
			pause(context.Background(), time.Duration(dice.IntN(800))*time.Millisecond)
			c.enter(name)
			pause(context.Background(), time.Duration(dice.IntN(800))*time.Millisecond)
		}
	}
}

func frozen(program string, least, most time.Duration) func(*cast, *rand.Rand) {
	return func(c *cast, dice *rand.Rand) {
		name := oneOf(program, dice)
		c.signal(name, syscall.SIGSTOP)
		pause(context.Background(), least+time.Duration(dice.Int64N(int64(most-least))))
		c.signal(name, syscall.SIGCONT)
	}
}

// killedAtReply kills an API when it has done what was asked for, and loses what
// it was about to say.
func killedAtReply(c *cast, dice *rand.Rand) {
	for range 3 {
		name := oneOf("api", dice)
		p := c.pods[name]
		var once sync.Once
		dead := make(chan struct{})
		p.door.listen(func(said []byte, asking bool) bool {
			if asking || !(bytes.HasPrefix(said, []byte("HTTP/1.1 20"))) {
				return true
			}
			once.Do(func() {
				c.kill(name)
				close(dead)
			})
			return false
		})
		select {
		case <-dead:
		case <-time.After(5 * time.Second):
		}
		p.door.heal()
		c.enter(name)
		pause(context.Background(), time.Duration(300+dice.IntN(700))*time.Millisecond)
	}
}

// twoSweepers takes the leases away again and again, and has both APIs sweep at
// the same time, beside the worker.
func twoSweepers(c *cast, dice *rand.Rand) {
	ran := int64(0)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		ran += c.runTwice([]string{"lock-expiry", "booking-expiry", "reconcile", "recovery"}[dice.IntN(4)])
	}
	if ran == 0 {
		c.t.Log("no sweep was forced")
	}
}

// runTwice has both APIs run a job at the same time, whoever has its lease, and
// returns how many did.
func (c *cast) runTwice(job string) int64 {
	var ran atomic.Int64
	var both sync.WaitGroup
	for _, name := range []string{"api-0", "api-1"} {
		both.Go(func() {
			api := &caller{"http://" + c.pods[name].addr, c.http}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			api.call(ctx, http.MethodDelete, "/api/admin/jobs/"+job+"/lease", nil) //nolint:errcheck // it may be down
			if status, _, err := api.call(ctx, http.MethodPost, "/api/admin/jobs/"+job+"/run", nil); err == nil && status == http.StatusOK {
				ran.Add(1)
			}
		})
	}
	both.Wait()
	return ran.Load()
}
