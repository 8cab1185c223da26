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
  price?: number | string;
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
  price?: number | string;
  seats: number;
  held: boolean;
}

export type Selected = SelectedSeat | SelectedPlaces;

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
export interface WaitlistEntry {
  id: string;
  eventId: string;
  /** Either of the two. */
  userId?: string;
  holder?: string;
  seats: number;
  /** Keys, the preferred one first. */
  categories?: string[];
  section?: string;
  adjacent?: "REQUIRED" | "PREFERRED";
  accessibleSeats?: number;
  status: "WAITING" | "OFFERED" | "ACCEPTED" | "DECLINED" | "EXPIRED" | "LEFT" | "CLOSED";
  /** 1 for the first that is WAITING. */
  position?: number;
  /** The offer. */
  lockId?: string;
  createdAt: string;
  updatedAt: string;
}

export interface HoldfastSeatsEventMap extends Omit<HTMLElementEventMap, "error"> {
  /** A refusal, or no answer. It does not bubble. */
  error: CustomEvent<HoldfastSeatsError>;
  /** The map is drawn and live. */
  ready: CustomEvent<{ event: string; seats: number }>;
  /** A seat was chosen or given up, by the customer or because it is gone. */
  seatselected: CustomEvent<{ seat: SelectedSeat; selected: boolean; selection: Selected[] }>;
  /** Another number of standing places is chosen in a section; 0: none any more. */
  placesselected: CustomEvent<{ places: SelectedPlaces; selection: Selected[] }>;
  /** What the server holds has changed. */
  holdchanged: CustomEvent<{ locks: Lock[]; selection: Selected[]; expiresAt?: string }>;
  /** The time of a lock is over, or it was released elsewhere. */
  holdexpired: CustomEvent<{ lock: Lock | null }>;
  /** The status or the position of the customer's entry on the waiting list has changed. The lock is its offer. */
  waitlistchanged: CustomEvent<{ entry: WaitlistEntry | null; lock: Lock | null }>;
}

/** Detail of the event `error`; hold() and best() reject with an Error that has code, status and problem. */
export interface HoldfastSeatsError {
  /** Code of the server, such as SEAT_LIMIT_REACHED; NO_ANSWER; NO_TOKEN; NO_MAP. With status 0, hold() also has SEAT_ORPHANED, best() TOO_MANY, SALE_NOT_OPEN and EVENT_NOT_ON_SALE, and both LOCK_HAS_BOOKING. */
  code: string;
  /** HTTP status; 0 without an answer. */
  status: number;
  message: string;
  problem: Record<string, unknown>;
  /** The element tries again by itself; false: it does not, or no longer. */
  retrying: boolean;
}

/** The element `<holdfast-seats>`. */
export class HoldfastSeats extends HTMLElement {
  /** The customer's token, or a function that returns or promises one: it is called before each request. Set it again for another customer. */
  token: string | (() => string | Promise<string>);
  /** By category key: numbers (see the attribute currency) or texts. */
  prices: Record<string, number | string>;
  /** Texts in place of the English ones. */
  words: Record<string, string | ((...values: never[]) => string)>;
  /** The attribute: the choice can't be changed while the shop is paid. The element ends it when nothing is held any more. */
  paying: boolean;
  readonly selection: Selected[];
  readonly locks: Lock[];
  /** The entry on the waiting list, as the server answered it last. */
  readonly waitlistEntry: WaitlistEntry | null;
  /** Holds what is chosen, for hold="checkout". It rejects if not all of it can be held. */
  hold(): Promise<Lock[]>;
  /** Holds the best available seats in place of those that are chosen. It rejects if they can't be held. */
  best(seats: number, options?: BestOptions): Promise<void>;
  /** Joins the waiting list. It rejects with the refusal of the server. */
  joinWaitlist(seats: number, options?: BestOptions): Promise<WaitlistEntry | null>;
  /** Declines the offer, or leaves the waiting list. */
  leaveWaitlist(): Promise<void>;
  /** Gives up everything that is chosen or held. */
  release(): Promise<void>;
  /** Forgets the locks without releasing them, after the shop has sold them: those with these IDs, or all. Others are released, unless they have a booking. */
  finish(lockIds?: string[]): Promise<void>;
  /** Moves the map and the keyboard to a seat. */
  showSeat(id: string): void;
  addEventListener<K extends keyof HoldfastSeatsEventMap>(
    type: K, listener: (this: HoldfastSeats, event: HoldfastSeatsEventMap[K]) => unknown, options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

export const version: string;

declare global {
  interface HTMLElementTagNameMap {
    "holdfast-seats": HoldfastSeats;
  }
}
