// Webhooks: the endpoints to which changes are sent, the page of one with its deliveries, and replays.

import { call, callAll, newKey } from "../api.js";
import { el } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { badge, count, eventLink, idLink, lines, number, time } from "./format.js";
import { query } from "./lists.js";
import { act, card, field, form, load, select, table } from "./parts.js";
import { goTo, link, setTitle } from "./router.js";

const reasons = { operator: "by an operator", gone: "it answered 410", failures: "it only failed for five days" };

const why = (w) => (w.reason ? reasons[w.reason] ?? w.reason : "–");
const types = (w) => el("code", { textContent: w.types.join(", ") });
const state = (w) => el("span", {}, badge(w.state), w.reason ? ` ${why(w)}` : "");
const status = (d) => (d.lastStatus === undefined ? "no answer" : String(d.lastStatus));

const columns = [
  { name: "Endpoint", cell: (w) => idLink("webhooks", w.id) },
  { name: "URL", cell: (w) => el("span", { textContent: w.url }) },
  { name: "Types", cell: types },
  { name: "Event", cell: (w) => eventLink(w.eventId) },
  { name: "State", cell: state },
  { name: "Waiting", cell: waiting },
  { name: "Latest delivery", cell: latest },
];

// latest is the newest delivery of an endpoint, once it is known.
function latest(w) {
  const node = el("span", { textContent: "…" });
  call("GET", `/api/webhooks/${w.id}/deliveries?pageSize=1`).then(({ items: [d] }) => {
    node.replaceChildren(...d === undefined ? ["none"] : [badge(d.state), d.attempts > 0 ? ` ${status(d)}` : ""]);
  }, () => { node.textContent = "not known"; });
  return node;
}

const mostCounted = 100;

// waiting is how many deliveries of an endpoint wait for a retry, and are dead, once it is known.
function waiting(w) {
  const node = el("span", { textContent: "…" });
  const of = async (which) => {
    const { items, nextPageToken } = await call("GET", `/api/webhooks/${w.id}/deliveries?${query({ state: which, pageSize: mostCounted })}`);
    return `${number(items.length)}${nextPageToken === "" ? "" : " or more"}`;
  };
  Promise.all([of("PENDING"), of("DEAD")]).then(([pending, dead]) => { node.textContent = `${pending} pending, ${dead} dead`; },
    () => { node.textContent = "not known"; });
  return node;
}

export async function webhooksPage(page) {
  setTitle("Webhooks");
  const body = el("div");
  const fill = () => load(page, body, () => callAll("/api/webhooks?pageSize=500"), ({ items, more }) => {
    if (items.length === 0) return body.replaceChildren(el("p", { className: "soft", role: "status", textContent: "There are no endpoints." }));
    body.replaceChildren(el("p", { className: "soft small", role: "status", textContent: `${count(items.length, "endpoint")}${more ? " or more" : ""}, oldest first.` }),
      table("Endpoints", columns, items));
  });
  page.root.append(card("Webhooks", [], el("p", { className: "soft small", textContent: "Other systems that get changes as they are committed." }), body),
    creationCard(fill));
  await fill();
}

// secretNode shows a secret, which no later answer has.
function secretNode(secret, text) {
  const code = el("code", { textContent: secret });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret);
      showToast("The secret is in the clipboard.");
    } catch { // without https, or without the permission
      getSelection().selectAllChildren(code);
      showToast("The secret is selected: copy it.");
    }
  };
  return el("div", { className: "stack", role: "group", "aria-label": "Secret" }, el("p", { textContent: text }), el("p", {}, code),
    el("div", { className: "buttons" }, el("button", { type: "button", textContent: "Copy the secret", onclick: copy })));
}

// listOf reads types that are separated by commas or spaces.
const listOf = (text) => text.split(/[\s,]+/).filter((t) => t !== "");

const idInput = (name) => el("input", { name, pattern: "\\s*[0-9a-fA-F]{24}\\s*", title: "24 hex digits", autocomplete: "off", spellcheck: false });
const typesInput = (value, required) => el("input", { name: "types", defaultValue: value, required, maxLength: 3500, autocomplete: "off", spellcheck: false });

function creationCard(created) {
  let idempotencyKey = newKey();
  const result = el("div", { role: "status" });
  const node = form({ className: "stack", "aria-label": "New endpoint" }, async (fields) => {
    result.replaceChildren();
    const request = { url: fields.url.value.trim(), types: listOf(fields.types.value), idempotencyKey };
    if (fields.eventId.value.trim() !== "") request.eventId = fields.eventId.value.trim();
    const made = await call("POST", "/api/webhooks", request);
    result.replaceChildren(made.secret === undefined
      ? el("p", {}, "The endpoint exists. Its secret was in an answer that did not arrive: ", el("a", { href: link(`webhooks/${made.id}`), textContent: "make a new one" }), ".")
      : secretNode(made.secret, `This is the secret of ${made.url}. It is shown this once: give it to the receiver now.`));
    node.reset();
    idempotencyKey = newKey();
    await created();
  }, el("div", { className: "fields" },
    field("URL", el("input", { name: "url", required: true, maxLength: 2000, autocomplete: "off", spellcheck: false }), "body.url"),
    field("Types, or their beginning with *", typesInput("*", true), "body.types"),
    field("ID of an event, or all events", idInput("eventId"), "body.eventId")),
  el("div", { className: "buttons" }, el("button", { className: "primary", textContent: "Create the endpoint" })));
  node.addEventListener("input", () => { idempotencyKey = newKey(); }); // another request
  return card("New endpoint", [], el("div", { className: "stack" }, node, result));
}

export async function webhookPage(page) {
  setTitle("Webhook");
  await load(page, page.root, () => call("GET", `/api/webhooks/${page.id}`), (webhook) => {
    page.root.append(endpointCard(page, webhook), deliveriesCard(page, webhook), replayCard(webhook));
  });
}

function facts(w) {
  return lines(["ID", el("code", { textContent: w.id })], ["URL", el("span", { textContent: w.url })], ["Types", types(w)],
    ["Event", w.eventId ? eventLink(w.eventId) : "all"], ["State", state(w)], ["Created", time(w.createdAt)], ["Changed", time(w.updatedAt)]);
}

// endpointCard shows an endpoint, and what can be done with it.
function endpointCard(page, webhook) {
  const path = `/api/webhooks/${webhook.id}`;
  const shown = el("div");
  const buttons = el("div", { className: "buttons" });
  const result = el("div", { role: "status" });
  const problem = el("div", { className: "wrong", role: "alert", "data-part": "problem" });
  const node = el("div", { className: "stack", role: "group", "aria-label": "Actions" }, buttons, result, problem);
  const does = (work) => () => act(node, async () => {
    result.replaceChildren();
    await work();
  });
  const button = (text, work) => el("button", { type: "button", textContent: text, onclick: does(work) });
  const change = (to, text) => async () => {
    show(await call("PATCH", path, { state: to }));
    showToast(text);
  };
  const sendTest = async () => {
    const tested = await call("POST", `${path}/test`);
    const how = tested.status === undefined ? "no answer" : `status ${tested.status}`;
    result.replaceChildren(el("p", { className: tested.error ? "wrong" : "", textContent:
      `${tested.error ? tested.error : "The endpoint accepted the event."} (${how}, ${number(tested.durationMs)} ms)` }));
  };
  const remove = async () => {
    const text = `${webhook.url} gets no more changes, and its deliveries are removed. That can't be undone.`;
    if (!await confirmAction("Delete the endpoint?", text, "Delete the endpoint", "Keep it")) return;
    await call("DELETE", path);
    showToast("The endpoint was deleted.");
    goTo("webhooks");
  };
  const show = (w) => {
    shown.replaceChildren(facts(w));
    buttons.replaceChildren(button("Send a test event", sendTest), w.state === "ENABLED"
      ? button("Disable", change("DISABLED", "The endpoint gets no changes."))
      : button("Enable", change("ENABLED", "The endpoint gets the changes from now on. Those between are for a replay.")), button("Delete", remove));
  };
  show(webhook);
  return card("Endpoint", [el("a", { href: link("audit", { target: page.id }), textContent: "Audit of this endpoint" })],
    el("div", { className: "stack" }, shown, node, rotation(path, webhook)));
}

// rotation makes a new secret.
function rotation(path, webhook) {
  const result = el("div", { role: "status" });
  const hours = el("input", { type: "number", name: "hours", value: 24, min: 0, max: 720, step: "any", required: true, inputMode: "decimal" });
  return el("div", { className: "stack" }, form({ className: "fields", "aria-label": "New secret" }, async (fields) => {
    result.replaceChildren();
    const { secret } = await call("POST", `${path}/rotate-secret`, { overlapSeconds: Math.round(fields.hours.value * 3600) });
    result.replaceChildren(secretNode(secret, `This is the new secret of ${webhook.url}. It is shown this once: give it to the receiver now.`));
  }, field("Hours of overlap", hours, "body.overlapSeconds"), el("button", { textContent: "Make a new secret" })), result);
}

const pages = { locks: "locks", bookings: "bookings", payments: "payments", events: "events", "seating-plans": "plans" };

// subject links to what was changed.
function subject(d) {
  const [kind, id] = d.subject.split("/");
  return pages[kind] === undefined ? d.subject : el("span", {}, `${kind.replace("-", " ").replace(/s$/, "")} `, idLink(pages[kind], id));
}

const deliveryColumns = [
  { name: "Change", cell: (d) => el("code", { textContent: d.changeId }) },
  { name: "Type", cell: (d) => el("code", { textContent: d.type }) },
  { name: "Of", cell: subject },
  { name: "State", cell: (d) => badge(d.state) },
  { name: "Tries", right: true, cell: (d) => number(d.attempts) },
  { name: "Last status", cell: (d) => (d.attempts > 0 ? status(d) : "–") },
  { name: "Next try", cell: (d) => (d.nextAttemptAt ? time(d.nextAttemptAt) : d.state === "PENDING" ? "after an earlier change" : "–") },
];

const deliveryStates = ["PENDING", "DELIVERED", "DEAD"];

function deliveriesCard(page, webhook) {
  const { state: which = "", pageToken = "" } = page.query;
  const path = `webhooks/${webhook.id}`;
  const body = el("div");
  const read = () => call("GET", `/api/webhooks/${webhook.id}/deliveries?${query({ state: which, pageSize: 50, pageToken })}`);
  const fill = () => load(page, body, read, ({ items, nextPageToken }) => {
    const links = el("p", { className: "buttons" });
    if (pageToken !== "") links.append(el("a", { className: "button", href: link(path, { state: which }), textContent: "Newest" }));
    if (nextPageToken !== "") links.append(el("a", { className: "button", href: link(path, { state: which, pageToken: nextPageToken }), textContent: "Older" }));
    body.replaceChildren(items.length === 0 ? el("p", { className: "soft", textContent: "No deliveries." }) : table("Deliveries", deliveryColumns, items), links);
  });
  fill();
  return card("Deliveries", [el("button", { type: "button", textContent: "Refresh", onclick: fill })],
    form({ className: "fields", "aria-label": "Deliveries" }, (fields) => goTo(path, { state: fields.state.value }),
      field("State", select("state", which, [["", "all"], ...deliveryStates]), "query.state"), el("button", { className: "primary", textContent: "Filter" })), body);
}

// replayCard plans deliveries of past changes.
function replayCard(webhook) {
  const result = el("p", { role: "status" });
  const at = (name) => el("input", { name, maxLength: 40, placeholder: "2027-06-15T19:00:00Z", autocomplete: "off", spellcheck: false });
  return card("Replay", [], el("p", { className: "soft small", textContent: "Delivers past changes again, with the same IDs, oldest first and at most 5,000 at once. " +
    "They may come after newer ones: the receiver compares the sequence." }),
  form({ className: "fields", "aria-label": "Replay" }, async (fields) => {
    result.replaceChildren();
    const request = {};
    for (const name of ["since", "until", "state"]) if (fields[name].value.trim() !== "") request[name] = fields[name].value.trim();
    if (listOf(fields.types.value).length > 0) request.types = listOf(fields.types.value);
    const { deliveries } = await call("POST", `/api/webhooks/${webhook.id}/replay`, request);
    const rest = deliveries >= 5000 ? " There may be more: go on with a later beginning." : "";
    result.textContent = `${count(deliveries, "delivery", "deliveries")} planned.${rest}`;
  }, field("Changes since", at("since"), "body.since"), field("Before", at("until"), "body.until"),
  field("Types, or its own", typesInput("", false), "body.types"),
  field("What", select("state", "", [["", "all, also what was never sent"], ["DEAD", "what is dead"], ["DELIVERED", "what was delivered"]]), "body.state"),
  el("button", { className: "primary", textContent: "Replay" })), result);
}
