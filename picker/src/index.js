import { HoldfastSeats } from "./element.js";

export { HoldfastSeats };
/**
 * version of this module, that of Holdfast.
 * @type {string}
 */
// @ts-expect-error: scripts/picker defines VERSION.
export const version = VERSION;

// For the console and the demo shop, which show more than customers may see. Not for pages of others: it may change at any time.
export { Clock, remaining } from "./clock.js";
export { Hall } from "./hall.js";
export { SeatMap } from "./map.js";
export { saleOf, saleText } from "./sale.js";
export { blocked, free, sold, taken } from "./painter.js";
export { colorsOf } from "./theme.js";
export { WaitingBox } from "./waiting.js";
export { Waitlist, takesEntries } from "./waitlist.js";
export { words } from "./words/en.js";

if (!customElements.get("holdfast-seats")) customElements.define("holdfast-seats", HoldfastSeats);
