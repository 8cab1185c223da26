// What both pages need to build and change a document.

// el makes an element: properties, then children; what begins with aria, data or
// role is an attribute.
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

// setText writes a text only where it changes, so that nothing is read out, or
// selected anew, for nothing. It tells whether it did.
export function setText(node, text) {
  if (node.textContent === String(text)) return false;
  node.textContent = text;
  return true;
}

// setNumber is setText for a number that moves; the eye is led to it.
export function setNumber(node, n) {
  const first = node.textContent === "";
  if (setText(node, n.toLocaleString("en")) && !first) {
    node.classList.remove("moved");
    void node.offsetWidth; // begins the animation anew
    node.classList.add("moved");
  }
}

// keyed brings the children of a node in line with items, and leaves alone what
// stays: a button that somebody is about to press must not be replaced.
export function keyed(parent, items, keyOf, make, update) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let at = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let node = old.get(key);
    if (node === undefined) {
      node = make(item);
      node.dataset.key = key;
    }
    old.delete(key);
    update(node, item);
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
  }
  for (const gone of old.values()) gone.remove();
}

// part finds a named part of a row.
export const part = (node, name) => node.querySelector(`[data-part="${name}"]`);

// longest is how long a page waits at the most, also behind a server that hung.
const longest = 15_000; // ms

// every runs work now and then each time some milliseconds after its end, later
// where the server had much to do for it, and not while nobody looks at the page.
// The result begins a turn at once.
export function every(pause, work) {
  let timer = 0;
  let running = false;
  const turn = async () => {
    clearTimeout(timer);
    if (running || document.hidden) return;
    running = true;
    const start = performance.now();
    try {
      await work();
    } finally {
      running = false;
      timer = setTimeout(turn, Math.max(pause, Math.min(longest, 9 * (performance.now() - start))));
    }
  };
  document.addEventListener("visibilitychange", turn);
  turn();
  return turn;
}
