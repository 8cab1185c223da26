// The examples of the seat map.

const query = new URLSearchParams(location.search);
const first = document.getElementById("first");
if (query.has("event")) {
  first.setAttribute("user", query.get("user") ?? "");
  first.setAttribute("event", query.get("event"));
}
