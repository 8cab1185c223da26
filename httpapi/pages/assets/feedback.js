// Messages and questions to the user.

import { ApiError, key } from "./api.js";
import { byID, setText } from "./dom.js";

// showErrors runs work that calls the API. It asks for a key if one is required, and
// shows other errors on top of the page until work of the same name succeeds. It
// returns true if the user has entered a key, and work should run again at once.
export async function showErrors(name, work) {
  try {
    await work();
    setAlert(name, "");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (needsKey(error)) return requestKey(error);
    setAlert(name, error.status === 0 ? `${error.message} The page shows the last known state.` : error.message);
  }
  return false;
}

// needsKey reports whether a request failed for want of a key, or of another key.
export const needsKey = (error) => error.status === 401 || error.status === 403;

let keyRequest = null;

// requestKey asks for a key after an error for which needsKey holds, and returns whether the request should be repeated:
// the user has entered a key, now or since the request was sent.
export async function requestKey(error) {
  if (error.keysEntered < key.entered()) return true;
  let reason = "This server requires a key.";
  if (error.status === 403) reason = "This key does not have the required scope.";
  else if (key.get() !== "") reason = "The server does not accept this key.";
  keyRequest ??= showKeyDialog(reason).finally(() => { keyRequest = null; });
  return keyRequest;
}

// showKeyDialog waits until the dialog is closed, and returns whether the user has
// entered a key. If not, the next response opens the dialog again.
function showKeyDialog(reason) {
  setText(byID("key-reason"), reason);
  const dialog = byID("key");
  let entered = false;
  dialog.showModal();
  byID("key-form").onsubmit = (event) => {
    event.preventDefault();
    key.set(byID("key-field").value.trim());
    byID("key-field").value = "";
    entered = true;
    dialog.close();
  };
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(entered);
  });
}

// clearErrors hides the errors of work whose page was left.
export const clearErrors = (name) => setAlert(name, "");

const alerts = new Map();

function setAlert(name, text) {
  if (text === "") alerts.delete(name);
  else alerts.set(name, text);
  const [first = ""] = alerts.values();
  setText(byID("alert"), first);
  byID("alert").hidden = first === "";
}

const toastTimeout = 12_000; // ms
let toastTimer = 0;

// showToast shows the result of an action.
export function showToast(text) {
  byID("toast").textContent = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { byID("toast").textContent = ""; }, toastTimeout);
}

// confirmAction asks the user before an action; yes and no are the texts of the buttons. With a no of its own, that has
// the focus: Enter, which opened the dialog and may still be held down, does not do what can't be undone. While another
// question is open, it returns false: the user may be about to answer that one, so it must not be replaced.
export function confirmAction(title, text, yes, no = "") {
  const dialog = byID("confirm");
  if (dialog.onclose !== null) return Promise.resolve(false);
  byID("confirm-title").textContent = title;
  byID("confirm-text").textContent = text;
  byID("confirm-yes").textContent = yes;
  byID("confirm-no").textContent = no || "Cancel";
  dialog.returnValue = "no";
  dialog.showModal();
  if (no !== "") byID("confirm-no").focus();
  return new Promise((resolve) => {
    dialog.onclose = () => {
      dialog.onclose = null;
      resolve(dialog.returnValue === "yes");
    };
  });
}
