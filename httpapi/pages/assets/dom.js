// Functions that build and update a page.

// el creates an element with properties and children. Properties that begin with on
// become event listeners. Properties that begin with aria, or that the element does
// not have, become attributes.
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && !name.startsWith("aria")) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

export const byID = (id) => document.getElementById(id);

// setText writes a text only if it differs, so that screen readers and selections
// are not disturbed. It returns whether the text differed.
export function setText(node, text) {
  if (node.textContent === String(text)) return false;
  node.textContent = text;
  return true;
}

// setNumber is setText for a number; it highlights a change.
export function setNumber(node, n) {
  const isFirst = node.textContent === "";
  if (setText(node, n.toLocaleString("en")) && !isFirst) {
    node.classList.remove("changed");
    void node.offsetWidth; // restarts the animation
    node.classList.add("changed");
  }
}

// updateList makes the children of a node match the items. It keeps the nodes of
// items that stay, so that a button is not replaced while the user presses it.
export function updateList(parent, items, keyOf, create, update) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let next = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let node = old.get(key);
    if (node === undefined) {
      node = create(item);
      node.dataset.key = key;
    }
    old.delete(key);
    update(node, item);
    if (node === next) next = next.nextElementSibling;
    else parent.insertBefore(node, next);
  }
  for (const removed of old.values()) removed.remove();
}

// part finds a named part of a row.
export const part = (node, name) => node.querySelector(`[data-part="${name}"]`);

// setOff turns a button off, or on again. It keeps the keyboard's focus, which a disabled button loses; its listener asks isOff.
export function setOff(button, off) {
  if (off) button.setAttribute("aria-disabled", "true");
  else button.removeAttribute("aria-disabled");
}

export const isOff = (button) => button.getAttribute("aria-disabled") === "true";

// whileOff runs the work of a button, which is off meanwhile. Pressed again, it does nothing.
export async function whileOff(button, work) {
  if (isOff(button)) return;
  setOff(button, true);
  try {
    await work();
  } finally {
    setOff(button, false);
  }
}

const maxPollInterval = 15_000; // ms

// poll runs work now, and again each interval (ms) after it has ended, or at once if
// work returns true. The interval grows when the server is slow, up to maxPollInterval.
// Nothing runs while the page is hidden, or after the signal. The result is a function that runs work at once.
export function poll(interval, work, signal) {
  let timer = 0;
  let running = false;
  const run = async () => {
    clearTimeout(timer);
    if (running || document.hidden || signal?.aborted) return;
    running = true;
    const start = performance.now();
    let again = false;
    try {
      again = await work();
    } finally {
      running = false;
      const duration = performance.now() - start;
      timer = setTimeout(run, again ? 0 : Math.max(interval, Math.min(maxPollInterval, 9 * duration)));
    }
  };
  document.addEventListener("visibilitychange", run, { signal });
  run();
  return run;
}
