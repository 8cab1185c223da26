// Package plandrawing draws seating plans as pictures. It is pure: the same plan is always the same picture, on each machine.
//
// Texts of a plan are text in the picture, never markup, and the picture refers to nothing outside of it.
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package plandrawing
