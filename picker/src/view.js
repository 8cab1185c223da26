// The view from a seat: a picture, or another page, at an address of the venue's choice. It is loaded when the customer
// opens it, or rests on the seat, and the address of the shop's page is not sent.

import { el } from "./dom.js";

/** addressOf is an address, if it is https with a host and without a user's name; undefined otherwise. */
export const addressOf = (url) => (/^https:\/\/[^\s/?#@\\]+([/?#]|$)/i.test(url) ? url : undefined);

/** pictureOf loads a picture. on has listeners. */
export const pictureOf = (src, alt, on) => el("img", { alt, referrerPolicy: "no-referrer", ...on, src });

/** viewOf opens to the picture at an address or, if there is none, to a link. text says what it is, and name where from. */
export function viewOf(url, text, name) {
  const link = () => el("a", { href: url, target: "_blank", rel: "noopener noreferrer", referrerPolicy: "no-referrer", textContent: text });
  const details = el("details", { ontoggle: () => {
    if (details.children.length > 1) return;
    const picture = pictureOf(url, `${text}: ${name}`, { onerror: () => picture.replaceWith(link()) });
    details.append(picture);
  } }, el("summary", { textContent: text, "aria-label": `${text}: ${name}` }));
  return details;
}
