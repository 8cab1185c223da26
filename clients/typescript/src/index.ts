// The package: README.md describes it.

export { Holdfast } from "./client.js";
export type { AvailabilityMessage, CachedMap, QueryOf, RawOptions, Replayable, Reset, SeatsMessage } from "./client.js";
export type { ChangedBooking, HoldfastChange } from "./changes.js";
export {
  CapacityBelowTaken, HoldfastError, JobRunning, SaleNotOpen, SeatLimitReached, SeatOrphaned, SeatsNotAdjacent, SeatsUnavailable,
  ValidationFailed, hasCode,
} from "./errors.js";
export type { Code } from "./errors.js";
export type * from "./openapi.js";
export { List } from "./pages.js";
export type { Page } from "./pages.js";
export { takenSeats } from "./seats.js";
export type { StreamOptions } from "./streams.js";
export type { CallOptions, Options, Query } from "./transport.js";
