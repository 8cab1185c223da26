// The pages of a user and of a holder, with their bookings and locks.

import { call } from "../api.js";
import { el } from "../dom.js";
import { lines, time } from "./format.js";
import { bookingColumns, lockColumns, shortList } from "./lists.js";
import { kindCard, load } from "./parts.js";
import { setTitle } from "./router.js";

export async function userPage(page) {
  setTitle("User");
  await load(page, page.root, () => call("GET", `/api/users/${page.id}`), (user) => {
    page.root.append(kindCard("User", user.name, [], lines(["ID", el("code", { textContent: user.id })], ["E-mail", user.email], ["Created", time(user.createdAt)])));
    showLists(page, { userId: user.id });
  });
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
