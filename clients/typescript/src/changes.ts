// What a change says, by its type.

import type { Booking, Change, Event, Lock, Payment, Place, SeatingPlan, WaitlistEntry } from "./openapi.js";

type Of<Type extends string, Data> = Omit<Change, "type" | "data"> & { type: Type; data: Data };

/** ChangedBooking has what a change of a booking's seats or of its customer has replaced. */
export type ChangedBooking = Booking & { previous?: { seats: number; places?: Place[]; userId?: string; holder?: string } };

/** HoldfastChange is a committed change: a CloudEvent, with the resource right after the change. */
export type HoldfastChange =
  | Of<`holdfast.lock.${"created" | "changed" | "extended" | "consumed" | "released" | "expired"}`, Lock>
  | Of<`holdfast.booking.${"created" | "changed" | "transferred" | "payment_pending" | "confirmed" | "cancelled" | "expired"}`, ChangedBooking>
  | Of<`holdfast.payment.${"accepted" | "refund_due" | "refunded"}`, Payment>
  | Of<`holdfast.waitlist.${"joined" | "offered" | "accepted" | "declined" | "expired" | "left" | "closed"}`, Omit<WaitlistEntry, "position">>
  | Of<`holdfast.event.${"created" | "changed" | "cancelled" | "deleted" | "sold_out" | "available" | "seats_blocked"}`, Event>
  | Of<"holdfast.seating_plan.created", SeatingPlan>
  | Of<"holdfast.webhook.test", unknown>;
