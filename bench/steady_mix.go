package main

import (
	"math/rand/v2"
	"time"
)

// step is a request of a customer.
type step string

const (
	stepLock    step = "lock"
	stepChange  step = "change seats"
	stepExtend  step = "extend"
	stepRelease step = "release"
	stepBook    step = "book"
	stepPay     step = "pay"
	stepConfirm step = "confirm"
	stepCancel  step = "cancel"
)

// course is what a customer does, from the first request to the last.
type course struct {
	name  string
	share int // of all customers, in percent
	steps []step
}

// keepsSeats reports whether the seats stay sold.
func (c course) keepsSeats() bool { return c.steps[len(c.steps)-1] == stepConfirm }

// isAbandoned reports whether the lock is left to expire.
func (c course) isAbandoned() bool {
	last := c.steps[len(c.steps)-1]
	return last == stepLock || last == stepBook
}

// courses are the mix of the scenario steady. Of 100 customers, 80 give their seats back in one way or another.
var courses = []course{
	{"releases", 20, []step{stepLock, stepRelease}},
	{"extends, then releases", 10, []step{stepLock, stepExtend, stepRelease}},
	{"changes the seats, then releases", 10, []step{stepLock, stepChange, stepRelease}},
	{"leaves", 15, []step{stepLock}},
	{"books and leaves", 5, []step{stepLock, stepBook}},
	{"books and cancels", 10, []step{stepLock, stepBook, stepCancel}},
	{"pays", 20, []step{stepLock, stepBook, stepPay, stepConfirm}},
	{"pays and cancels", 10, []step{stepLock, stepBook, stepPay, stepConfirm, stepCancel}},
}

// canceledCourse replaces the course that keeps its seats where an event must not sell out.
var canceledCourse = courses[len(courses)-1]

// pickCourse returns the course of a number from 0 to 99.
func pickCourse(percent int) course {
	for _, c := range courses {
		if percent < c.share {
			return c
		}
		percent -= c.share
	}
	panic("the shares of the courses are less than 100 %")
}

// Lifetimes of locks and payment windows, and the pauses of customers.
const (
	// abandonedTTL is short, so that many locks expire in the time of a measurement.
	abandonedTTL = 15 * time.Second
	// keptTTL is more than any course takes.
	keptTTL = 10 * time.Minute
	// minPause and maxPause are between two requests of a customer.
	minPause = time.Second
	maxPause = 5 * time.Second
)

// randomPause is how long a customer thinks.
func randomPause() time.Duration { return minPause + rand.N(maxPause-minPause) }

// The events of the scenario.
const (
	steadyHotEvents = 2 // unseated
	steadyHotHalls  = 1
	steadyEvents    = 200 // unseated
	steadyHalls     = 20
)

// crowd is a group of events, and how many of the customers want one of them.
type crowd struct {
	share  int // in percent
	events int
	seated bool
}

// crowds are in the order of the events of a steadyWorld.
var crowds = []crowd{
	{40, steadyHotEvents, false},
	{20, steadyHotHalls, true},
	{20, steadyEvents, false},
	{20, steadyHalls, true},
}

// pickCrowd returns the first and the number of the events of a crowd, by a number from 0 to 99.
func pickCrowd(percent int) (first, events int) {
	for _, c := range crowds {
		if percent < c.share {
			return first, c.events
		}
		percent -= c.share
		first += c.events
	}
	panic("the shares of the crowds are less than 100 %")
}
