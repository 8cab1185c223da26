// The pages of a user and of a holder, with their bookings and locks.

import { call } from "../api.js";
import { el, setText } from "../dom.js";
import { showToast } from "../feedback.js";
import { lines, time } from "./format.js";
import { bookingColumns, lockColumns, shortList } from "./lists.js";
import { card, field, form, kindCard, load } from "./parts.js";
import { setTitle } from "./router.js";

export async function userPage(page) {
  setTitle("User");
  await load(page, page.root, () => call("GET", `/api/users/${page.id}`), (user) => {
    const email = el("span", { textContent: user.email });
    const facts = kindCard("User", user.name, [], lines(["ID", el("code", { textContent: user.id })], ["E-mail", email], ["Created", time(user.createdAt)]));
    page.root.append(facts, card("Change the user", [], userForm(user, (changed) => {
      setText(facts.querySelector("h2"), changed.name);
      setText(email, changed.email);
    })));
    showLists(page, { userId: user.id });
  });
}

// userForm sends what the operator has changed.
function userForm(user, done) {
  const name = el("input", { name: "name", value: user.name, required: true, maxLength: 200, autocomplete: "off" });
  const email = el("input", { name: "email", type: "email", value: user.email, required: true, maxLength: 254, autocomplete: "off" });
  return form({ className: "fields", "aria-label": "Change the user" }, async () => {
    const change = { ...(name.value !== user.name && { name: name.value }), ...(email.value !== user.email && { email: email.value }) };
    if (Object.keys(change).length === 0) return showToast("Nothing was changed.");
    user = await call("PATCH", `/api/users/${user.id}`, change);
    [name.value, email.value] = [user.name, user.email];
    showToast("The user is changed.");
    done(user);
  }, field("Name", name, "body.name"), field("E-mail", email, "body.email"), el("button", { className: "primary", textContent: "Save" }));
}

// holderPage is the page of a customer without a user.
export function holderPage(page) {
  setTitle("Holder");
  const { holder = "" } = page.query;
  page.root.append(kindCard("Holder", holder, [], el("p", { className: "soft", textContent: "A customer of the shop without a user." })));
  showLists(page, { holder });
}

function showLists(page, filter) {
  shortList(page, { path: "bookings", title: "Bookings", columns: bookingColumns, filter, empty: "The customer has no bookings." });
  shortList(page, { path: "locks", title: "Locks", columns: lockColumns, filter, empty: "The customer has no locks." });
}
