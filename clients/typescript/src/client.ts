// The calls of the API: one method for each operation of its OpenAPI document, under the operation's name.

import type { HoldfastChange } from "./changes.js";
import type {
  Audit, Availability, Blocked, Booking, BookingChange, Charge, ConvertedPlan, CreatedWebhook, Delivery, Erased, ErasureOfHolder, Event,
  EventSummary, EventUpdate, ExportedPlan, FreedLease, Health, JobList, Lock, LockExtension, NewBooking, NewEvent, NewLock, NewPart,
  NewPlanPreview, NewSale, NewSeatingPlan, NewUser, NewWaitlistEntry, NewWebhook, Overview, Payment, PaymentWindow, PlanPreview,
  RefundReference, RefundsDue, Replay, Report, Run, Sales, Search, Seat, SeatList, SeatMap, SeatingPlan, SeatingPlanPlan,
  SeatingPlanSummary, Secret, SecretRotation, ShopChange, Survey, Transfer, User, UserUpdate, VenueMap, WaitlistEntry, Webhook,
  WebhookReplay, WebhookTest, WebhookUpdate, Wish, operations,
} from "./openapi.js";
import { List, maxPageSize, type Page } from "./pages.js";
import { follow, type StreamOptions } from "./streams.js";
import { Transport, type Answer, type CallOptions, type Options, type Query, type Request } from "./transport.js";

/** QueryOf is what an operation may be asked by. */
export type QueryOf<O extends keyof operations> = NonNullable<operations[O]["parameters"]["query"]>;

/** AvailabilityMessage and SeatsMessage are those of streams. */
export type AvailabilityMessage = { event: "availability"; id: string; data: Availability } | Reset;
export type SeatsMessage = Exclude<operations["stream-seats"]["responses"][200]["content"]["text/event-stream"][number], { event: "reset" }> | Reset;
/** Reset says to forget what came before: messages were missed, and everything follows again. */
export interface Reset { event: "reset"; data: Record<string, never> }

/** Replayable is an answer to a request with an idempotency key; replayed is true if an earlier request was carried out. */
export type Replayable<T> = T & { readonly replayed: boolean };

/** CachedMap is a map of seats that getSeats can refresh: with its ETag, and a text that tells its query from others. */
export type CachedMap = SeatMap & { readonly etag: string; readonly queryKey: string };

/** RawOptions are those of a request to any route. */
export interface RawOptions extends CallOptions { query?: Query; body?: unknown; headers?: Readonly<Record<string, string>> }

type Flags = Omit<Request, "method" | "path">;

/**
 * Holdfast calls one API. Calls are retried where that is safe; see the README. A refusal is a HoldfastError with a code.
 * Times are texts of RFC 3339, such as `new Date().toISOString()`.
 */
export class Holdfast {
  readonly #baseUrl: string;
  readonly #options: Options;
  readonly #transport: Transport;
  #event: string | undefined; // in the paths of locks and bookings

  /** baseUrl is such as https://tickets.example; the API is below its /api. */
  constructor(baseUrl: string, options: Options = {}) {
    this.#baseUrl = baseUrl;
    this.#options = { ...options };
    this.#transport = new Transport(baseUrl, this.#options);
  }

  /**
   * inEvent returns a client that names an event in the paths of its calls on locks and bookings, so that a load balancer
   * sends all of an event's requests to one process, which is faster. To it, a lock or a booking of another event is
   * LOCK_NOT_FOUND or BOOKING_NOT_FOUND. acquireLock and createBooking name the event of their request in any case.
   */
  inEvent(eventId: string): Holdfast {
    const client = new Holdfast(this.#baseUrl, this.#options);
    client.#event = eventId;
    return client;
  }

  // Users and holders

  async createUser(user: NewUser, options?: CallOptions): Promise<Replayable<User>> { return this.#withKey("POST", "/api/users", user, options); }
  async getUser(id: string, options?: CallOptions): Promise<User> { return this.#get(path`/api/users/${id}`, {}, options); }
  /** findUser finds a user by email address, in any case. */
  async findUser(query: { email: string }, options?: CallOptions): Promise<User | undefined> {
    return (await this.#page<User>("/api/users", query, options)).items[0];
  }
  async updateUser(id: string, change: UserUpdate, options?: CallOptions): Promise<User> {
    return this.#patch(path`/api/users/${id}`, change, options);
  }
  /** eraseUser erases what is known about a user, for good. After an unknown outcome the same call continues. */
  async eraseUser(id: string, options?: CallOptions): Promise<Erased> { return this.#postLong(path`/api/users/${id}/erase`, undefined, options); }
  async eraseHolder(holder: ErasureOfHolder, options?: CallOptions): Promise<Erased> { return this.#postLong("/api/holders/erase", holder, options); }

  // Events

  async createEvent(event: NewEvent, options?: CallOptions): Promise<Replayable<Event>> {
    return this.#withKey("POST", "/api/events", event, options);
  }
  async getEvent(id: string, options?: CallOptions): Promise<Event> { return this.#get(path`/api/events/${id}`, {}, options); }
  listEvents(query?: QueryOf<"list-events">, options?: CallOptions): List<Event> { return this.list("/api/events", query, options); }
  async updateEvent(id: string, change: EventUpdate, options?: CallOptions): Promise<Event> {
    return this.#patch(path`/api/events/${id}`, change, options);
  }
  /** deleteEvent fails with EVENT_NOT_FOUND if there is none, even if an earlier attempt without an answer has removed it. */
  async deleteEvent(id: string, options?: CallOptions): Promise<void> {
    return this.#call("DELETE", path`/api/events/${id}`, { answer: "nothing" }, options);
  }
  /** cancelEvent cancels an event for good, and returns the run that ends its locks and bookings. */
  async cancelEvent(id: string, options?: CallOptions): Promise<Run> { return this.#post(path`/api/admin/events/${id}/cancel`, undefined, options); }
  async getEventReport(id: string, options?: CallOptions): Promise<Report> { return this.#getLong(path`/api/events/${id}/report`, options); }
  /** streamEvent yields the state of an event, first and after each change. It connects again when it is cut, and resumes. */
  async *streamEvent(id: string, options?: StreamOptions): AsyncGenerator<AvailabilityMessage, void, void> {
    yield* follow(this.#transport, path`/api/events/${id}/stream`, {}, options);
  }

  // Plans and seats

  /** createSeatingPlan creates a plan. One that was read can be created elsewhere. */
  async createSeatingPlan(plan: NewSeatingPlan | SeatingPlan, options?: CallOptions): Promise<Replayable<SeatingPlanSummary>> {
    const { id: _, createdAt: __, ...body } = plan as SeatingPlan;
    return this.#withKey("POST", "/api/seating-plans", body, options, { isPlan: true });
  }
  /** getSeatingPlan returns a plan written out. It never changes, so it can be kept. */
  async getSeatingPlan(id: string, query?: QueryOf<"get-seating-plan">, options?: CallOptions): Promise<SeatingPlan> {
    return this.#call("GET", path`/api/seating-plans/${id}`, { query, isPlan: true }, options);
  }
  listSeatingPlans(query?: QueryOf<"list-seating-plans">, options?: CallOptions): List<SeatingPlanSummary> {
    return this.list("/api/seating-plans", query, options);
  }
  /** getSeats returns the seats that are taken; `previous` itself if nothing has changed since the same query. */
  async getSeats(eventId: string, query: QueryOf<"get-seats"> = {}, options?: CallOptions & { previous?: CachedMap }): Promise<CachedMap> {
    const route = path`/api/events/${eventId}/seats`;
    const queryKey = JSON.stringify([route, query.section, query.format]);
    const previous = options?.previous?.queryKey === queryKey ? options.previous : undefined;
    const headers = previous?.etag ? { "If-None-Match": previous.etag } : undefined;
    const answer = await this.#send("GET", route, { query, headers }, options);
    if (answer.status === 304 && previous) return previous;
    return { ...answer.body as SeatMap, etag: answer.headers.get("ETag") ?? "", queryKey };
  }
  async getSeat(eventId: string, seatId: string, options?: CallOptions): Promise<Seat> {
    return this.#get(path`/api/events/${eventId}/seats/${seatId}`, {}, options);
  }
  async blockSeats(eventId: string, seats: SeatList, options?: CallOptions): Promise<Blocked> {
    return this.#post(path`/api/events/${eventId}/seats/block`, seats, options);
  }
  async unblockSeats(eventId: string, seats: SeatList, options?: CallOptions): Promise<Blocked> {
    return this.#post(path`/api/events/${eventId}/seats/unblock`, seats, options);
  }
  /** streamSeats yields the free seats of all sections, and the seats of those in `section`, as streamEvent does. */
  async *streamSeats(eventId: string, query: QueryOf<"stream-seats"> = {}, options?: StreamOptions): AsyncGenerator<SeatsMessage, void, void> {
    yield* follow(this.#transport, path`/api/events/${eventId}/seats/stream`, query, options);
  }

  // Locks

  /** acquireLock locks seats: `seats`, `seatIds`, `bestAvailable`, or `section` with `seats`. */
  async acquireLock(lock: NewLock, options?: CallOptions): Promise<Replayable<Lock>> {
    return this.#withKey("POST", path`/api/events/${lock.eventId}/locks`, lock, options);
  }
  async getLock(id: string, options?: CallOptions): Promise<Lock> { return this.#get(path`/api/locks/${id}`, {}, options); }
  listLocks(query?: QueryOf<"list-locks">, options?: CallOptions): List<Lock> { return this.list("/api/locks", query, options); }
  async updateLock(id: string, change: ShopChange, options?: CallOptions): Promise<Lock> {
    return this.#patch(this.#in(path`/locks/${id}`), change, options);
  }
  /** extendLock moves the expiry to a later time. It never shortens the lock. */
  async extendLock(id: string, until: LockExtension, options?: CallOptions): Promise<Lock> {
    return this.#post(this.#in(path`/locks/${id}/extend`), until, options);
  }
  /** changeSeats replaces the seats of a lock: all of the wish, or the lock stays as it is. */
  async changeSeats(id: string, wish: Wish, options?: CallOptions): Promise<Lock> {
    return this.#call("PUT", this.#in(path`/locks/${id}/seats`), { body: wish }, options);
  }
  /** releaseLock releases a lock, and cancels its open booking. */
  async releaseLock(id: string, options?: CallOptions): Promise<Lock> { return this.#call("DELETE", this.#in(path`/locks/${id}`), {}, options); }

  // Bookings

  /** createBooking books the seats of a lock. If the lock has a booking, it returns that one. */
  async createBooking(booking: NewBooking, options?: CallOptions): Promise<Booking> {
    return this.#post(path`/api/events/${booking.eventId}/bookings`, booking, options);
  }
  async getBooking(id: string, options?: CallOptions): Promise<Booking> { return this.#get(this.#in(path`/bookings/${id}`), {}, options); }
  listBookings(query?: QueryOf<"list-bookings">, options?: CallOptions): List<Booking> { return this.list("/api/bookings", query, options); }
  async updateBooking(id: string, change: ShopChange, options?: CallOptions): Promise<Booking> {
    return this.#patch(this.#in(path`/bookings/${id}`), change, options);
  }
  /** payBooking opens the payment window of an INITIATED booking. */
  async payBooking(id: string, window: PaymentWindow, options?: CallOptions): Promise<Booking> {
    return this.#post(this.#in(path`/bookings/${id}/pay`), window, options);
  }
  /** confirmBooking asserts that the charge was taken or authorised: the seats are sold. If the error has a `payment`, refund it. */
  async confirmBooking(id: string, charge: Charge = {}, options?: CallOptions): Promise<Booking> {
    return this.#post(this.#in(path`/bookings/${id}/confirm`), charge, options);
  }
  async cancelBooking(id: string, options?: CallOptions): Promise<Booking> {
    return this.#post(this.#in(path`/bookings/${id}/cancel`), undefined, options);
  }
  /** changeBookingSeats gives back, exchanges or adds seats after the sale: all of the wish, or nothing changes. */
  async changeBookingSeats(id: string, change: BookingChange, options?: CallOptions): Promise<Replayable<Booking>> {
    return this.#withKey("PUT", this.#in(path`/bookings/${id}/seats`), change, options);
  }
  /** transferBooking gives a CONFIRMED booking to another customer. */
  async transferBooking(id: string, to: Transfer, options?: CallOptions): Promise<Replayable<Booking>> {
    return this.#withKey("POST", this.#in(path`/bookings/${id}/transfer`), to, options);
  }
  /** sellSeats sells at once, such as at a counter: it returns a CONFIRMED booking. */
  async sellSeats(eventId: string, sale: NewSale, options?: CallOptions): Promise<Replayable<Booking>> {
    return this.#withKey("POST", path`/api/events/${eventId}/sales`, sale, options);
  }

  // Payments

  async getPayment(id: string, options?: CallOptions): Promise<Payment> { return this.#get(path`/api/payments/${id}`, {}, options); }
  listPayments(query?: QueryOf<"list-payments">, options?: CallOptions): List<Payment> { return this.list("/api/payments", query, options); }
  /** refundPayment records that a payment that is REFUND_DUE was refunded or voided. */
  async refundPayment(id: string, refund: RefundReference, options?: CallOptions): Promise<Payment> {
    return this.#post(path`/api/payments/${id}/refunded`, refund, options);
  }
  /** refundPart makes a part of a payment due for refund. */
  async refundPart(id: string, part: NewPart, options?: CallOptions): Promise<Replayable<Payment>> {
    return this.#withKey("POST", path`/api/payments/${id}/refunds`, part, options);
  }
  /** notePartRefunded records that a part was refunded. */
  async notePartRefunded(id: string, refundId: string, refund: RefundReference, options?: CallOptions): Promise<Payment> {
    return this.#post(path`/api/payments/${id}/refunds/${refundId}/refunded`, refund, options);
  }

  // Waiting list

  /** joinWaitlist returns the customer's open entry, if it has the same wish. */
  async joinWaitlist(eventId: string, entry: NewWaitlistEntry, options?: CallOptions): Promise<WaitlistEntry> {
    return this.#post(path`/api/events/${eventId}/waitlist`, entry, options);
  }
  async getWaitlistEntry(id: string, options?: CallOptions): Promise<WaitlistEntry> { return this.#get(path`/api/waitlist/${id}`, {}, options); }
  listWaitlist(eventId: string, query?: QueryOf<"list-waitlist">, options?: CallOptions): List<WaitlistEntry> {
    return this.#list(() => path`/api/events/${eventId}/waitlist`, query, options);
  }
  /** declineOffer gives an offer back. */
  async declineOffer(id: string, options?: CallOptions): Promise<WaitlistEntry> {
    return this.#post(path`/api/waitlist/${id}/decline`, undefined, options);
  }
  /** leaveWaitlist ends an entry that waits, or gives its offer back. */
  async leaveWaitlist(id: string, options?: CallOptions): Promise<WaitlistEntry> {
    return this.#call("DELETE", path`/api/waitlist/${id}`, {}, options);
  }

  // Changes and webhooks

  /** listChanges lists committed changes, oldest first. Keep the last page's token (`pages()`), and continue with it as pageToken. */
  listChanges(query?: QueryOf<"list-changes">, options?: CallOptions): List<HoldfastChange> { return this.list("/api/changes", query, options); }
  /** createWebhook creates an endpoint. Without `secret` in the answer an earlier attempt has created it: rotate the secret. */
  async createWebhook(webhook: NewWebhook, options?: CallOptions): Promise<Replayable<CreatedWebhook>> {
    return this.#withKey("POST", "/api/webhooks", webhook, options);
  }
  async getWebhook(id: string, options?: CallOptions): Promise<Webhook> { return this.#get(path`/api/webhooks/${id}`, {}, options); }
  listWebhooks(query?: QueryOf<"list-webhooks">, options?: CallOptions): List<Webhook> { return this.list("/api/webhooks", query, options); }
  async updateWebhook(id: string, change: WebhookUpdate, options?: CallOptions): Promise<Webhook> {
    return this.#patch(path`/api/webhooks/${id}`, change, options);
  }
  /** deleteWebhook fails with WEBHOOK_NOT_FOUND if there is none, even if an earlier attempt without an answer has removed it. */
  async deleteWebhook(id: string, options?: CallOptions): Promise<void> {
    return this.#call("DELETE", path`/api/webhooks/${id}`, { answer: "nothing" }, options);
  }
  /** rotateWebhookSecret makes a new secret. After an unknown outcome there may be one that was not returned: call it again. */
  async rotateWebhookSecret(id: string, rotation: SecretRotation = {}, options?: CallOptions): Promise<Secret> {
    return this.#call("POST", path`/api/webhooks/${id}/rotate-secret`, { body: rotation, isUnsafe: true }, options);
  }
  /** testWebhook sends an endpoint one event of the type holdfast.webhook.test, also if it is disabled. */
  async testWebhook(id: string, options?: CallOptions): Promise<WebhookTest> {
    return this.#call("POST", path`/api/webhooks/${id}/test`, { isUnsafe: true, isLong: true }, options);
  }
  listDeliveries(id: string, query?: QueryOf<"list-deliveries">, options?: CallOptions): List<Delivery> {
    return this.#list(() => path`/api/webhooks/${id}/deliveries`, query, options);
  }
  /** replayWebhook delivers past changes again. After 5000 continue with a later `since`. */
  async replayWebhook(id: string, replay: WebhookReplay = {}, options?: CallOptions): Promise<Replay> {
    return this.#postLong(path`/api/webhooks/${id}/replay`, replay, options);
  }

  // Operators

  async listJobs(options?: CallOptions): Promise<JobList> { return this.#get("/api/admin/jobs", {}, options); }
  /** runJob runs a job now. It returns the run when it ends, or after 25 s. */
  async runJob(job: string, options?: CallOptions): Promise<Run> {
    return this.#call("POST", path`/api/admin/jobs/${job}/run`, { isUnsafe: true, isLong: true }, options);
  }
  listRuns(job: string, query?: QueryOf<"list-runs">, options?: CallOptions): List<Run> {
    return this.#list(() => path`/api/admin/jobs/${job}/runs`, query, options);
  }
  /** freeLease frees the lease of whichever process has it. After an unknown outcome that may be another one: look at listJobs first. */
  async freeLease(job: string, options?: CallOptions): Promise<FreedLease> {
    return this.#call("DELETE", path`/api/admin/jobs/${job}/lease`, { isUnsafe: true }, options);
  }
  async getOverview(query?: QueryOf<"get-overview">, options?: CallOptions): Promise<Overview> {
    return this.#get("/api/admin/overview", query, options);
  }
  async getEventSummary(id: string, options?: CallOptions): Promise<EventSummary> { return this.#get(path`/api/admin/events/${id}`, {}, options); }
  async getEventSales(id: string, query?: QueryOf<"get-event-sales">, options?: CallOptions): Promise<Sales> {
    return this.#get(path`/api/admin/events/${id}/sales`, query, options);
  }
  async getSeatStates(id: string, options?: CallOptions): Promise<VenueMap> { return this.#get(path`/api/admin/events/${id}/seats`, {}, options); }
  async refundsDue(options?: CallOptions): Promise<RefundsDue> { return this.#get("/api/admin/refunds-due", {}, options); }
  async search(query: QueryOf<"search">, options?: CallOptions): Promise<Search> { return this.#get("/api/admin/search", query, options); }
  async getHealth(options?: CallOptions): Promise<Health> { return this.#get("/api/admin/health", {}, options); }
  async getSurvey(options?: CallOptions): Promise<Survey> { return this.#getLong("/api/admin/survey", options); }
  listAudit(query?: QueryOf<"list-audit">, options?: CallOptions): List<Audit> { return this.list("/api/admin/audit", query, options); }
  /** convertSeatingPlan reads a file with a plan, as JSON or as the text of a CSV file, and creates nothing. */
  async convertSeatingPlan(file: SeatingPlanPlan | string, query?: QueryOf<"convert-seating-plan">, options?: CallOptions): Promise<ConvertedPlan> {
    return this.#call("POST", "/api/admin/seating-plans/convert", { body: file, query, isPlan: true }, options);
  }
  /** previewSeatingPlan answers what is wrong with a plan, or else what its empty hall would sell first. It creates nothing. */
  async previewSeatingPlan(preview: NewPlanPreview, options?: CallOptions): Promise<PlanPreview> {
    return this.#call("POST", "/api/admin/seating-plans/preview", { body: preview, isPlan: true }, options);
  }
  /** exportSeatingPlan writes a plan as a file of another format, and creates nothing. A plan that was read can be given as it is. */
  async exportSeatingPlan(plan: SeatingPlanPlan | SeatingPlan, query: QueryOf<"export-seating-plan">, options?: CallOptions): Promise<ExportedPlan> {
    const { id: _, createdAt: __, ...body } = plan as SeatingPlan;
    return this.#call("POST", "/api/admin/seating-plans/export", { body, query, isPlan: true }, options);
  }

  // Any route

  /**
   * request sends a request to any route, and returns the body: JSON, or a text. GET, PUT, and requests with the header
   * Idempotency-Key are retried as other calls are; others only if they were certainly not executed.
   */
  async request<T = unknown>(method: string, path: string, { query, body, headers, ...options }: RawOptions = {}): Promise<T> {
    if (!/^\/(?!\/)/.test(path)) throw new TypeError("The path of a request must begin with one slash, such as /api/locks.");
    const hasKey = Object.keys(headers ?? {}).some((name) => name.toLowerCase() === "idempotency-key");
    const isUnsafe = !["GET", "HEAD", "PUT"].includes(method) && !hasKey;
    return this.#call(method, path, { query, body, headers, isUnsafe, isPlan: true, answer: "anything" }, options);
  }

  /** list iterates over a list by its path, such as /api/locks. */
  list<T = unknown>(path: string, query: Query = {}, options?: CallOptions): List<T> {
    return this.#list(() => path, query, options);
  }

  // #list calls pathOf when the list is read, and so a wrong ID fails then.
  #list<T>(pathOf: () => string, query: Query = {}, options?: CallOptions): List<T> {
    const read = async (pageToken: string | undefined): Promise<Page<T>> =>
      this.#page(pathOf(), { pageSize: maxPageSize, ...query, pageToken }, options);
    return new List(read, typeof query["pageToken"] === "string" ? query["pageToken"] : undefined);
  }

  #page<T>(path: string, query: Query, options?: CallOptions): Promise<Page<T>> {
    return this.#call("GET", path, { query, answer: "page" }, options);
  }

  #get<T>(path: string, query: Query = {}, options?: CallOptions): Promise<T> { return this.#call("GET", path, { query }, options); }
  #post<T>(path: string, body: unknown, options?: CallOptions): Promise<T> { return this.#call("POST", path, { body }, options); }
  #getLong<T>(path: string, options?: CallOptions): Promise<T> { return this.#call("GET", path, { isLong: true }, options); }
  #postLong<T>(path: string, body: unknown, options?: CallOptions): Promise<T> { return this.#call("POST", path, { body, isLong: true }, options); }
  // Another caller may have changed the same since, so a PATCH is not repeated unless it was certainly not executed.
  #patch<T>(path: string, body: unknown, options?: CallOptions): Promise<T> { return this.#call("PATCH", path, { body, isUnsafe: true }, options); }

  // #withKey sends a request with an idempotency key, so that its repetitions have one effect.
  async #withKey<T>(
    method: string, path: string, request: object, options?: CallOptions, flags: Flags = {},
  ): Promise<Replayable<T>> {
    const body: { idempotencyKey?: string | null } = { ...request };
    body.idempotencyKey ??= newKey();
    const answer = await this.#send(method, path, { ...flags, body }, options);
    return { ...answer.body as T, replayed: answer.headers.get("Idempotent-Replayed") === "true" };
  }

  async #call<T>(method: string, path: string, flags: Flags, options?: CallOptions): Promise<T> {
    return (await this.#send(method, path, flags, options)).body as T;
  }

  #send(method: string, path: string, flags: Flags, options?: CallOptions): Promise<Answer> {
    return this.#transport.call({ ...flags, method, path }, options);
  }

  // #in is the path of a lock or a booking, below the client's event if there is one.
  #in(rest: string): string { return this.#event === undefined ? `/api${rest}` : path`/api/events/${this.#event}` + rest; }
}

// newKey is also there in pages without a secure context, which have no randomUUID.
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// path escapes the values of a template. A dot would be resolved, and name another route.
function path(texts: TemplateStringsArray, ...values: string[]): string {
  return texts.reduce((whole, text, i) => {
    const value = values[i - 1] ?? "";
    if (/^\.{0,2}$/.test(value)) throw new TypeError(`"${value}" is not a valid ID.`);
    return whole + encodeURIComponent(value) + text;
  });
}
