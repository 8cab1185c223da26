import { HoldfastPlanEditor } from "./element.js";

export { HoldfastPlanEditor };
/**
 * version of this module.
 * @type {string}
 */
// @ts-expect-error: scripts/picker defines VERSION.
export const version = VERSION;

if (!customElements.get("holdfast-plan-editor")) customElements.define("holdfast-plan-editor", HoldfastPlanEditor);
