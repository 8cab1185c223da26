// The pages of a user and of a holder, with their bookings and locks.

import { ApiError, call } from "../api.js";
import { el, setText } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { count, lines, time } from "./format.js";
import { bookingColumns, lockColumns, shortList } from "./lists.js";
import { act, callIfExists, card, field, form, kindCard, load } from "./parts.js";
import { goTo, setTitle } from "./router.js";

export async function userPage(page) {
  setTitle("User");
  await load(page, page.root, () => callIfExists(`/api/users/${page.id}`), (user) => {
    const erasure = eraseCard(page, `/api/users/${page.id}/erase`, {}, userPage);
    if (user === null) { // what an erasure that was interrupted has left is erased by another one
      page.root.append(kindCard("User", "No such user", [], el("p", { className: "soft", textContent: "There never was one, or the user is erased." })), erasure);
      return showLists(page, { userId: page.id });
    }
    const email = el("span", { textContent: user.email });
    const facts = kindCard("User", user.name, [], lines(["ID", el("code", { textContent: user.id })], ["E-mail", email], ["Created", time(user.createdAt)]));
    page.root.append(facts, card("Change the user", [], userForm(user, (changed) => {
      setText(facts.querySelector("h2"), changed.name);
      setText(email, changed.email);
    })));
    showLists(page, { userId: user.id });
    page.root.append(erasure);
  });
}

// userForm sends what the operator has changed. The server checks the address: a browser's check refuses some that are valid.
function userForm(user, done) {
  const name = el("input", { name: "name", value: user.name, required: true, maxLength: 200, autocomplete: "off" });
  const email = el("input", { name: "email", value: user.email, required: true, maxLength: 254, autocomplete: "off", spellcheck: false });
  return form({ className: "fields", "aria-label": "Change the user" }, async () => {
    const change = { ...(name.value !== user.name && { name: name.value }), ...(email.value !== user.email && { email: email.value }) };
    if (Object.keys(change).length === 0) return showToast("Nothing was changed.");
    user = await call("PATCH", `/api/users/${user.id}`, change);
    [name.value, email.value] = [user.name, user.email];
    showToast("The user is changed.");
    done(user);
  }, field("Name", name, "body.name"), field("E-mail", email, "body.email"), el("button", { className: "primary", textContent: "Save" }));
}

// holderPage is the page of a customer without a user. Without a holder it asks for one: lists without a filter have all customers.
export function holderPage(page) {
  setTitle("Holder");
  const { holder = "" } = page.query;
  if (holder === "") {
    const text = el("input", { name: "holder", required: true, maxLength: 256, autocomplete: "off", spellcheck: false });
    return page.root.append(card("Holder", [], form({ className: "fields" }, () => goTo("holders", { holder: text.value }),
      field("Holder", text), el("button", { className: "primary", textContent: "Show" }))));
  }
  page.root.append(kindCard("Holder", holder, [], el("p", { className: "soft", textContent: "A customer of the shop without a user." })));
  showLists(page, { holder });
  page.root.append(eraseCard(page, "/api/holders/erase", { holder }, holderPage));
}

// eraseCard erases a customer, and then shows the page again. If there is much, a request does a part, and says how much; the next
// one goes on.
function eraseCard(page, path, body, show) {
  const progress = el("p", { className: "soft small", role: "status" });
  const problem = el("div", { className: "wrong", role: "alert", "data-part": "problem" });
  const button = el("button", { type: "button", textContent: "Erase the customer" });
  const root = card("Erase", [button], el("p", { className: "soft small", textContent: "Takes the name, the address, the text of a holder, metadata " +
    "and idempotency keys away, for good. What was sold stays, with its references." }), progress, problem);
  button.addEventListener("click", async () => {
    const confirmed = await confirmAction("Erase the customer?", "This can't be undone. Locks and bookings that are not due must be ended before.", "Erase the customer", "Keep it");
    if (!confirmed) return;
    await act(root, async () => {
      setText(progress, "Erasing …");
      while (!page.signal.aborted) {
        try {
          const { locks, bookings } = await call("POST", path, body);
          showToast(`The customer is erased: ${count(locks, "lock")} and ${count(bookings, "booking")} were changed.`);
          page.root.replaceChildren();
          return show(page);
        } catch (error) {
          if (!(error instanceof ApiError) || error.code !== "OUTCOME_UNKNOWN") throw error;
          setText(progress, `Erasing … ${error.message}`);
          await new Promise((resume) => setTimeout(resume, 1000));
        }
      }
    });
  });
  return root;
}

function showLists(page, filter) {
  shortList(page, { path: "bookings", title: "Bookings", columns: bookingColumns, filter, empty: "The customer has no bookings." });
  shortList(page, { path: "locks", title: "Locks", columns: lockColumns, filter, empty: "The customer has no locks." });
}
