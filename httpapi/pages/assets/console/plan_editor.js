// The pages of the plan editor: a new plan, and a copy of one that is stored. A stored plan never changes: each save is another plan.

import "/assets/holdfast-plan-editor.js";
import { call, newKey } from "../api.js";
import { el } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { planMap } from "./event_map.js";
import { count } from "./format.js";
import { act, card, load } from "./parts.js";
import { goTo, link, setTitle } from "./router.js";

export function newPlanPage(page) {
  setTitle("New plan");
  show(page, "new", undefined);
}

export async function editPlanPage(page) {
  setTitle("Edit a plan");
  await load(page, page.root, () => call("GET", `/api/seating-plans/${page.id}`), (plan) => {
    setTitle(`${plan.name}, edited`);
    show(page, `plan ${page.id}`, plan);
  });
}

function show(page, document, plan) {
  const editor = el("holdfast-plan-editor");
  editor.call = call;
  const problem = el("div", { className: "wrong", role: "alert", "data-part": "problem" });
  const preview = el("div", { className: "stack" });
  const root = el("div", { className: "stack plan-editor" }, problem, editor, preview);
  const note = plan === undefined ? [] : [el("p", { className: "soft small" }, "A copy of ", el("a", { href: link(`plans/${page.id}`), textContent: plan.name }),
    ": the plan itself stays as it is. Seats keep their IDs, so that events can change to the new plan.")];
  let shown = new AbortController(); // of the preview
  const look = el("button", { type: "button", textContent: "Look as customers do", onclick: () => {
    shown.abort();
    shown = new AbortController();
    showPreview({ signal: AbortSignal.any([page.signal, shown.signal]) }, preview, editor.plan);
  } });
  page.root.replaceChildren(card(plan === undefined ? "New plan" : "Edit a plan", [look], ...note, root));
  editor.open(plan);
  editor.keep(document);
  editor.focus();
  editor.addEventListener("save", ({ detail }) => act(root, async () => {
    const what = `${detail.plan.name}: ${count(editor.totalSeats, "seat")}. A plan never changes, and can't be removed.`;
    if (!await confirmAction("Create the seating plan?", what, "Create the plan")) return undefined;
    const created = await call("POST", "/api/seating-plans", { ...detail.plan, idempotencyKey: await keyOf(detail.plan) });
    await editor.saved();
    showToast(`The seating plan ${created.name} was created.`);
    return goTo(`plans/${created.id}`, plan === undefined ? {} : { from: page.id });
  }));
}

// keyOf is an idempotency key of a plan: the same plan has the same one after a reload, too, so that a save whose answer was lost makes no
// second plan. Browsers have no SHA-256 for pages that are neither https nor of this machine: there each save is another one.
async function keyOf(plan) {
  if (crypto.subtle === undefined) return newKey();
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(plan)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// showPreview draws the plan as the seat map does.
function showPreview(page, node, plan) {
  if (plan.sections.length === 0) return node.replaceChildren(el("p", { className: "soft", textContent: "Nothing is drawn yet." }));
  const close = el("button", { type: "button", textContent: "Close the preview", onclick: () => node.replaceChildren() });
  node.replaceChildren(el("h3", { textContent: "As customers see it" }), planMap(page, plan), el("div", { className: "buttons" }, close));
  return node.scrollIntoView({ block: "nearest" });
}
