// Package drawing draws seating plans as pictures. It is pure: the same plan is always the same picture.
//
// A seat is drawn where the plan has it. Two kinds of sections have no place of their own in the hall, and are
// laid out below the others: sections that overlap, such as those of a plan without coordinates, and general
// admission without an outline. If sections of different floors overlap, each floor is drawn by itself.
//
// A unit of the picture is a part of the usual distance of two seats, so that coordinates are whole numbers.
package drawing
