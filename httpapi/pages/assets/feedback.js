// How the pages talk with the person before them.

import { Refusal, key } from "./api.js";
import { byID, setText } from "./dom.js";

// guarded runs what asks the API: it asks for a key where one is wanted, and says
// on top of the page what is wrong, until the same work goes well.
export async function guarded(name, work) {
  try {
    await work();
    trouble(name, "");
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    if (refusal.status === 401 || refusal.status === 403) await wantKey(refusal);
    else trouble(name, refusal.status === 0 ? "The server does not answer. What you see is what it said last." : refusal.message);
  }
}

let asking = null;

function wantKey(refusal) {
  const why = refusal.status === 403 ? "That key does not allow this."
    : key.get() === "" ? "This server has keys." : "The server does not know that key.";
  asking ??= askForKey(why).finally(() => { asking = null; });
  return asking;
}

// askForKey shows the dialog and waits until it is closed; without a key there is
// nothing to see, and the next answer has it opened again.
function askForKey(why) {
  setText(byID("key-why"), why);
  const dialog = byID("key");
  dialog.showModal();
  byID("key-form").onsubmit = (event) => {
    event.preventDefault();
    key.set(byID("key-field").value.trim());
    byID("key-field").value = "";
    dialog.close();
  };
  return new Promise((resolve) => {
    dialog.onclose = resolve;
  });
}

const troubles = new Map();

function trouble(name, text) {
  if (text === "") troubles.delete(name);
  else troubles.set(name, text);
  const [first = ""] = troubles.values();
  setText(byID("trouble"), first);
  byID("trouble").hidden = first === "";
}

let said = 0;

// say tells the outcome of what somebody did.
export function say(text) {
  byID("said").textContent = text;
  clearTimeout(said);
  said = setTimeout(() => { byID("said").textContent = ""; }, 12_000);
}

// sure asks before something is done.
export function sure(title, text, yes) {
  byID("sure-title").textContent = title;
  byID("sure-text").textContent = text;
  byID("sure-yes").textContent = yes;
  const dialog = byID("sure");
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
  });
}
