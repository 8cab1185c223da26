// The page of a user, with the user's bookings and locks.

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
    const filter = { userId: user.id };
    shortList(page, { path: "bookings", title: "Bookings", columns: bookingColumns, filter, empty: "The user has no bookings." });
    shortList(page, { path: "locks", title: "Locks", columns: lockColumns, filter, empty: "The user has no locks." });
  });
}
