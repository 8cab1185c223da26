// Pages by the part of the URL behind #, so that each can be linked to and the browser's back button works:
// #/bookings/<id>, #/locks?eventId=<id>&status=ACTIVE.

import { byID, el } from "../dom.js";

// link returns the URL of a page. Parameters that are empty are left out.
export function link(path, query = {}) {
  const filled = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(filled).toString();
  return `#/${path}${search === "" ? "" : `?${search}`}`;
}

// goTo shows a page; the same one again, too.
export function goTo(path, query) {
  const hash = link(path, query);
  if (location.hash === hash) dispatchEvent(new Event("again"));
  else location.hash = hash;
}

function parse(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { path: path.replace(/\/$/, ""), query: Object.fromEntries(new URLSearchParams(search)) };
}

// find returns the page of a path, and the ID that the path has.
function find(pages, path) {
  for (const [pattern, show] of Object.entries(pages)) {
    const [name, parameter] = pattern.split("/");
    const [first, id, ...rest] = path.split("/");
    if (first !== name || rest.length > 0 || (id !== undefined) !== (parameter !== undefined)) continue;
    if (id === undefined || /^[0-9a-f]{24}$/i.test(id)) return { show, id };
  }
  return null;
}

let leave = new AbortController(); // of the page that is shown

// startRouter shows the page of the URL, now and when it changes. A page is a function of {id, query, root, signal}:
// it fills root, and stops when the signal is aborted. showHome is called with the query when the overview is shown.
export function startRouter(pages, showHome) {
  let shown = null;
  const show = (isFirst) => {
    const hash = location.hash;
    if (hash !== "" && !hash.startsWith("#/")) return; // a place in the page
    shown = hash;
    leave.abort();
    leave = new AbortController();
    const { path, query } = parse(hash);
    const isHome = path === "";
    byID("overview").hidden = !isHome;
    byID("page").hidden = isHome;
    const root = el("div", { className: "view" }); // what comes late for a page that was left goes to a node outside of the document
    byID("page").replaceChildren(root);
    for (const a of document.querySelectorAll("nav [data-page]")) {
      if (a.dataset.page === path.split("/")[0]) a.setAttribute("aria-current", "page");
      else a.removeAttribute("aria-current");
    }
    setTitle("");
    if (!isFirst) {
      byID("main").focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    if (isHome) return showHome(query);
    const page = find(pages, path);
    if (page === null) return root.append(el("p", { className: "card", textContent: "There is no such page." }));
    page.show({ id: page.id, query, root, signal: leave.signal });
  };
  addEventListener("hashchange", () => { if (location.hash !== shown) show(false); });
  addEventListener("again", () => show(false));
  byID("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the URL stays that of the page
    byID("main").focus();
  });
  byID("find").addEventListener("submit", (event) => {
    event.preventDefault();
    goTo("search", { q: byID("find").elements.q.value.trim() });
  });
  show(true);
}

// setTitle says in the browser's history which page it is.
export function setTitle(title) {
  document.title = title === "" ? "Holdfast console" : `${title} · Holdfast console`;
}
