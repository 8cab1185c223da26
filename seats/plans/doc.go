// Package plans stores seating plans. A plan is created once and never changes: no function of this
// package updates or removes one, so that an event can rely on its plan.
//
// Two collections hold a plan, and one transaction writes both:
//
//   - seatingplans has one document for each plan: its summary. Lists and checks read nothing else.
//   - seatingsections has the rows and seats, written out, in parts of about 1 MiB, because a plan
//     may exceed the 16 MiB of one document. A part belongs to one section, so that a section is
//     read without the others.
//
// A document of other software in seatingplans is no plan: lists leave it out, and by ID it is
// SEATING_PLAN_NOT_FOUND. A plan whose documents were damaged is listed; reading its seats fails
// with UNAVAILABLE.
//
// Hall returns a plan compiled for decisions, from a cache of limited size.
package plans
