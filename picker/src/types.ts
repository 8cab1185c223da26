// The types of the package: its classes have theirs from the JSDoc of the other files, and the rest is here. Nothing of this file is in
// the bundle.

export { HoldfastSeats, version } from "./index.js";

/** A chosen seat. */
export interface SelectedSeat {
  id: string;
  /** Key of the section. */
  section: string;
  sectionName: string;
  /** Label of the row. */
  row: string;
  label: string;
  /** Key of the category. */
  category: string;
  categoryName: string;
  /** As the page gave it for the category. */
  price?: Price;
  accessible: boolean;
  /** The server holds it for the customer. */
  held: boolean;
}

/** Chosen places in a section of general admission. */
export interface SelectedPlaces {
  /** Key of the section. */
  section: string;
  sectionName: string;
  /** Key of the category. */
  category: string;
  categoryName: string;
  /** Of one place, as the page gave it for the category. */
  price?: Price;
  seats: number;
  held: boolean;
}

export type Selected = SelectedSeat | SelectedPlaces;

/** A number (see the attribute `currency`) or a text. */
export type Price = number | string;

/** A customer's token, or a function that returns or promises one: it is called before each request. */
export type Token = string | (() => string | Promise<string>);

/** The texts of the map. */
export type Words = typeof import("./words/en.js").words;

/** A lock as the server answers it. */
export interface Lock {
  id: string;
  eventId: string;
  /** Either of the two. */
  userId?: string;
  holder?: string;
  seats: number;
  status: "ACTIVE" | "CONSUMED" | "RELEASED" | "EXPIRED";
  /** RFC 3339. */
  expiresAt: string;
  /** The booking that it last had; of an ACTIVE lock, it is being paid. */
  bookingId?: string;
  /** The entry of the waiting list whose offer it is. */
  waitlistEntryId?: string;
  createdAt: string;
  places: { seatId?: string; section: string; row?: string; label?: string; category?: string }[];
}

export interface BestOptions {
  /** Keys, the preferred one first. */
  categories?: string[];
  section?: string;
  adjacent?: "REQUIRED" | "PREFERRED";
  accessibleSeats?: number;
}

/** A customer's entry on the waiting list of an event. */
export interface WaitlistEntry extends BestOptions {
  id: string;
  eventId: string;
  /** Either of the two. */
  userId?: string;
  holder?: string;
  seats: number;
  status: "WAITING" | "OFFERED" | "ACCEPTED" | "DECLINED" | "EXPIRED" | "LEFT" | "CLOSED";
  /** 1 for the first that is WAITING. */
  position?: number;
  /** The offer. */
  lockId?: string;
  createdAt: string;
  updatedAt: string;
}

/** Detail of the event `error`; `hold()` and `best()` reject with an Error that has `code`, `status` and `problem`. */
export interface HoldfastSeatsError {
  /** Code of the server, such as SEAT_LIMIT_REACHED; NO_ANSWER; NO_TOKEN; NO_MAP. */
  code: string;
  /** HTTP status; 0 without an answer. */
  status: number;
  message: string;
  problem: Record<string, unknown>;
  /** The element tries again by itself; false: it does not, or no longer. */
  retrying: boolean;
}

/** The details of the element's events, by type. */
export interface HoldfastSeatsEventDetails {
  error: HoldfastSeatsError;
  ready: { event: string; seats: number };
  seatselected: { seat: SelectedSeat; selected: boolean; selection: Selected[] };
  placesselected: { places: SelectedPlaces; selection: Selected[] };
  holdchanged: { locks: Lock[]; selection: Selected[]; expiresAt?: string };
  holdexpired: { lock: Lock | null };
  waitlistchanged: { entry: WaitlistEntry | null; lock: Lock | null };
}

type CustomEvents = { [Type in keyof HoldfastSeatsEventDetails]: CustomEvent<HoldfastSeatsEventDetails[Type]> };

export interface HoldfastSeatsEventMap extends Omit<HTMLElementEventMap, keyof CustomEvents>, CustomEvents {}

declare module "./element.js" {
  interface HoldfastSeats {
    addEventListener<K extends keyof HoldfastSeatsEventMap>(
      type: K, listener: (this: HoldfastSeats, event: HoldfastSeatsEventMap[K]) => unknown, options?: boolean | AddEventListenerOptions,
    ): void;
    addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    "holdfast-seats": import("./element.js").HoldfastSeats;
  }
}
