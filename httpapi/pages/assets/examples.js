// The examples of the seat map, on the events of the demo shop; ?event=…&user=… shows another one in the first example.

import { call } from "./api.js";
import { byID, el } from "./dom.js";
import { findSamples, samples, sellSamples } from "./samples.js";

const query = new URLSearchParams(location.search);
const maxTold = 50;

for (const type of ["ready", "seatselected", "holdchanged", "holdexpired", "error"]) {
  byID("second").addEventListener(type, ({ detail }) => {
    byID("told").prepend(el("li", {}, el("code", { textContent: type }), ` ${JSON.stringify(detail)}`));
    if (byID("told").children.length > maxTold) byID("told").lastChild.remove();
  });
}
byID("hold").addEventListener("click", () => byID("second").hold().catch(() => {})); // the map says why
byID("release").addEventListener("click", () => byID("second").release());
byID("third").words = { bestButton: "Surprise me" };

function show(id, event, customer) {
  for (const [name, value] of Object.entries({ ...customer, event })) byID(id).setAttribute(name, value);
}

async function start() {
  if (query.has("event")) return query.get("event") && show("first", query.get("event"), { user: query.get("user") ?? "" });
  const found = await sellSamples(call, await findSamples());
  const [theatre, arena] = samples.map((sample) => found.get(sample));
  const guest = { holder: `guest-${crypto.getRandomValues(new Uint32Array(2)).join("-")}` };
  show("first", theatre.id, guest);
  show("second", theatre.id, guest);
  show("third", arena.id, guest);
}

start().catch((error) => {
  byID("alert").textContent = `The examples need a server without keys, such as that of scripts/run: ${error.message}`;
  byID("alert").hidden = false;
});
