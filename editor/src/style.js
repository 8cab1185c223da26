// The editor's styles. A page changes them by the custom properties --holdfast-… of the seat map.

import { dark, forced, light } from "../../picker/src/style.js";

const day = `${light} --_bad: var(--holdfast-bad, #a61b1b);`;
const night = `${dark} --_bad: var(--holdfast-bad, #ff9a92);`;

/** properties are the colours that the board draws with. */
export const properties = Object.fromEntries(["background", "floor", "ink", "soft", "line", "taken", "mine", "focus", "warn", "accent"].map((name) => [name, `--_${name}`]));

export const css = `
:host { display: block; container-type: inline-size; height: var(--holdfast-height, 720px); ${day} }
:host([hidden]) { display: none; }
@media (prefers-color-scheme: dark) { :host(:not([theme="light"])) { ${night} } }
:host([theme="dark"]) { ${night} }
:host([theme="light"]) { ${day} }
@media (forced-colors: active) { :host, :host([theme]), :host(:not([theme="light"])) { ${forced} --_bad: LinkText; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
.root {
  color: var(--_ink); background: var(--_background); font: 15px/1.4 var(--holdfast-font, system-ui, sans-serif); height: 100%;
  display: grid; grid-template-columns: auto minmax(0, 1fr) 310px; grid-template-rows: auto minmax(0, 1fr) auto;
  border: 1px solid var(--_line); border-radius: 8px; overflow: hidden;
}
button, select, input, textarea {
  font: inherit; color: inherit; background: var(--_background); border: 1px solid var(--_soft); border-radius: 6px; padding: 4px 8px; min-height: 34px; min-width: 0;
}
button { cursor: pointer; }
button:disabled { opacity: 0.5; cursor: default; }
button.primary { background: var(--_accent); color: var(--_accent-ink); border-color: var(--_accent); }
:focus-visible { outline: 3px solid var(--_focus); outline-offset: 1px; }
svg { width: 20px; height: 20px; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round; flex: none; }
svg .dots { stroke-width: 3; }
svg .mixed { stroke-width: 2; }

.bar { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: 6px; align-items: center; padding: 6px 8px; border-bottom: 1px solid var(--_line); }
.bar .spring { flex: 1; }
.bar .state { color: var(--_soft); font-size: 13px; }
.bar button[aria-pressed="true"] { background: var(--_ink); color: var(--_background); }
.menu { position: relative; }
.menu > div { position: absolute; z-index: 3; top: calc(100% + 4px); right: 0; width: max-content; display: grid; gap: 4px; padding: 6px; background: var(--_background); border: 1px solid var(--_line); border-radius: 8px; box-shadow: 0 6px 24px rgb(0 0 0 / 25%); }
.menu > div button { white-space: nowrap; text-align: start; border-color: transparent; }

.tools { display: grid; align-content: start; gap: 2px; padding: 6px; border-inline-end: 1px solid var(--_line); overflow: auto; }
.tools button { display: flex; gap: 8px; align-items: center; text-align: start; border-color: transparent; padding: 4px 10px 4px 8px; white-space: nowrap; font-size: 14px; }
.tools button:hover { border-color: var(--_line); }
.tools button[aria-pressed="true"] { background: var(--_accent); color: var(--_accent-ink); border-color: var(--_accent); }
.tools hr { border: 0; border-top: 1px solid var(--_line); margin: 4px 0; width: 100%; }

.board { grid-row: 2; position: relative; overflow: hidden; min-height: 0; outline: none; }
.board:focus-visible { box-shadow: inset 0 0 0 3px var(--_focus); }
.board canvas { position: absolute; inset: 0; width: 100%; height: 100%; touch-action: none; }
.view { position: relative; min-height: 0; display: grid; grid-template-rows: auto minmax(0, 1fr); }
.notice { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; padding: 8px 12px; border-bottom: 2px solid var(--_warn); background: var(--_background); }
.notice p { margin: 0; flex: 1 1 14em; overflow-wrap: anywhere; }

.panel { border-inline-start: 1px solid var(--_line); display: grid; grid-template-rows: auto minmax(0, 1fr); min-height: 0; min-width: 0; }
.tabs { display: flex; border-bottom: 1px solid var(--_line); }
.tabs button { flex: 1; border: 0; border-radius: 0; border-bottom: 3px solid transparent; }
.tabs button[aria-selected="true"] { border-bottom-color: var(--_accent); font-weight: 600; }
.tabs button:focus-visible { outline-offset: -3px; }
.tab { overflow: auto; padding: 10px 12px 24px; display: grid; gap: 14px; align-content: start; position: relative; }
.form { display: flex; flex-wrap: wrap; gap: 8px; align-items: end; min-width: 0; }
.form > p, .form > .buttons, .form > .check, .form > h3, .form > ul { flex: 1 1 100%; }
h2, h3, p, ul { margin: 0; }
h2 { font-size: 16px; } h3 { font-size: 14px; padding-top: 6px; border-top: 1px solid var(--_line); }
.form > h3:first-child { border-top: 0; padding-top: 0; }
ul { list-style: none; padding: 0; }
.field { display: grid; gap: 2px; flex: 1 1 100px; min-width: 0; max-width: calc(50% - 4px); }
.field.wide { flex-basis: 100%; max-width: none; }
.field label { font-size: 13px; color: var(--_soft); }
.field input, .field select { width: 100%; }
[aria-invalid="true"] { border-color: var(--_bad); }
.field input[type="color"] { padding: 2px; }
.check { display: flex; gap: 8px; align-items: center; }
.check input { min-height: 0; width: 18px; height: 18px; margin: 0; flex: none; }
.buttons { display: flex; flex-wrap: wrap; gap: 6px; }
.buttons button { padding: 2px 8px; font-size: 14px; }
.soft { color: var(--_soft); font-size: 14px; }
.preview { white-space: pre-line; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.list { display: grid; gap: 4px; }
.list li { display: flex; gap: 6px; align-items: center; min-width: 0; }
.list .name { flex: 1; min-width: 0; overflow-wrap: anywhere; text-align: start; }
.list button.name { border-color: transparent; }
.list button.name:hover { border-color: var(--_line); }
.list input[type="text"] { flex: 1; }
.list input[type="color"] { width: 36px; padding: 2px; flex: none; }
.swatch { width: 14px; height: 14px; border-radius: 50%; flex: none; }
.number { font-variant-numeric: tabular-nums; }
.finding { border-inline-start: 4px solid var(--_warn); padding-inline-start: 8px; }
.finding.error { border-inline-start-color: var(--_bad); }
.wrong { color: var(--_bad); font-weight: 600; }

.hint { grid-column: 1 / -1; padding: 6px 12px; border-top: 1px solid var(--_line); font-size: 14px; display: flex; gap: 16px; min-height: 34px; align-items: center; }
.hint p { flex: 1; min-width: 0; }
.hint .count { color: var(--_soft); white-space: nowrap; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

@container (max-width: 900px) {
  .root { grid-template-columns: auto minmax(0, 1fr); grid-template-rows: auto minmax(260px, 1fr) auto minmax(0, 45%); }
  .tools button span { display: none; }
  .panel { grid-column: 1 / -1; grid-row: 4; border-inline-start: 0; border-top: 1px solid var(--_line); }
}
`;
