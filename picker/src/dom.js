/**
 * el creates an element. Properties that begin with on are listeners. Properties that the element does not have, and
 * aria-…, are attributes.
 */
export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && name !== "part" && !name.startsWith("aria-")) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c !== undefined));
  return node;
}

/** setText writes a text only if it differs, so that screen readers and selections are not disturbed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** setAgain sets properties that a page has set before the element's class was defined. */
export function setAgain(element, names) {
  for (const name of names) {
    if (!Object.hasOwn(element, name)) continue;
    const value = element[name];
    delete element[name];
    element[name] = value;
  }
}
