import { HoldfastSeats } from "./element.js";

export { HoldfastSeats };
/** version of this module, that of Holdfast. */
export const version = VERSION;

if (!customElements.get("holdfast-seats")) customElements.define("holdfast-seats", HoldfastSeats);
