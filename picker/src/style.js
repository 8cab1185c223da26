// The picker's styles. A page changes them by the custom properties --holdfast-… and by ::part(…).

/** light, dark and forced are the colors, which the plan editor has too. */
export const light = `
  --_background: var(--holdfast-background, #ffffff);
  --_floor: var(--holdfast-floor, #f3f4f6);
  --_ink: var(--holdfast-ink, #16191d);
  --_soft: var(--holdfast-soft, #5a6069);
  --_line: var(--holdfast-line, #c9cdd3);
  --_taken: var(--holdfast-taken, #b4b9c1);
  --_mine: var(--holdfast-mine, #c2410c);
  --_focus: var(--holdfast-focus, #1d4ed8);
  --_warn: var(--holdfast-warn, #b45309);
  --_accent: var(--holdfast-accent, #0b5d66);
  --_accent-ink: var(--holdfast-accent-ink, #ffffff);
  color-scheme: light;`;
export const dark = `
  --_background: var(--holdfast-background, #14171b);
  --_floor: var(--holdfast-floor, #1f242a);
  --_ink: var(--holdfast-ink, #eef1f4);
  --_soft: var(--holdfast-soft, #a7aeb8);
  --_line: var(--holdfast-line, #414851);
  --_taken: var(--holdfast-taken, #565d67);
  --_mine: var(--holdfast-mine, #ff9a5c);
  --_focus: var(--holdfast-focus, #8ab4ff);
  --_warn: var(--holdfast-warn, #f5b454);
  --_accent: var(--holdfast-accent, #5cc4cf);
  --_accent-ink: var(--holdfast-accent-ink, #0b1416);
  color-scheme: dark;`;
export const forced = `
  --_background: Canvas; --_floor: Canvas; --_ink: CanvasText; --_soft: CanvasText; --_line: CanvasText; --_taken: GrayText;
  --_mine: Highlight; --_mine-ink: HighlightText; --_focus: CanvasText; --_warn: LinkText; --_accent: ButtonText; --_accent-ink: ButtonFace;`;

export const css = `
:host { display: block; container-type: inline-size; ${light} }
:host([hidden]) { display: none; }
@media (prefers-color-scheme: dark) { :host(:not([theme="light"])) { ${dark} } }
:host([theme="dark"]) { ${dark} }
:host([theme="light"]) { ${light} }
@media (forced-colors: active) { :host, :host([theme]), :host(:not([theme="light"])) { ${forced} } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
.root {
  color: var(--_ink); background: var(--_background); font: 16px/1.4 var(--holdfast-font, system-ui, sans-serif);
  display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); height: 100%;
}
@container (min-width: 760px) {
  .root { grid-template-columns: minmax(0, 1fr) 280px; grid-template-rows: auto minmax(0, 1fr); }
  .toolbar, .root > .notice { grid-column: 1 / -1; }
}
.toolbar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.toolbar select { min-width: 0; max-width: 10em; }
.zoom { display: flex; gap: 8px; margin-inline-start: auto; }
button, select, input {
  font: inherit; color: inherit; background: var(--_background); border: 1px solid var(--_soft); border-radius: 6px; padding: 6px 10px; min-height: 38px;
}
button { cursor: pointer; min-width: 36px; }
button.primary { background: var(--_accent); color: var(--_accent-ink); border-color: var(--_accent); }
:focus-visible { outline: 3px solid var(--_focus); outline-offset: 2px; }
.view { position: relative; height: var(--holdfast-height, clamp(320px, min(65vh, 125cqi), 640px)); }
.map { position: absolute; inset: 0; overflow: hidden; border: 1px solid var(--_line); border-radius: 8px; }
canvas { position: absolute; inset: 0; width: 100%; height: 100%; touch-action: pan-y; cursor: grab; }
canvas:active { cursor: grabbing; }
.mini {
  inset: auto 8px 8px auto; border: 1px solid var(--_line); border-radius: 6px; background: var(--_background); touch-action: none; cursor: pointer;
}
.cursor {
  position: absolute; left: 0; top: 0; width: 1px; height: 1px; min-width: 0; min-height: 0; margin: 0; padding: 0; border: 0; overflow: hidden; white-space: nowrap;
  background: none; color: var(--_ink); pointer-events: none; clip-path: inset(50%);
}
.tip {
  position: absolute; z-index: 1; max-width: 260px; padding: 6px 10px; border-radius: 6px; background: var(--_ink); color: var(--_background); font-size: 14px;
  pointer-events: none; left: 0; top: 0; overflow-wrap: anywhere;
}
.tip .warn { display: block; font-weight: 600; }
.toast {
  position: absolute; left: 12px; right: 12px; bottom: 12px; margin: auto; width: fit-content; max-width: calc(100% - 24px); padding: 8px 14px; border-radius: 6px;
  background: var(--_ink); color: var(--_background); overflow-wrap: anywhere; pointer-events: none;
  max-height: calc(100% - 24px); overflow: hidden;
}
.sale { flex: 1 0 100%; }
.notice, .sale { margin: 0; padding: 8px 12px; border: 2px solid var(--_warn); border-radius: 6px; background: var(--_background); }
.view .notice { position: absolute; z-index: 2; top: 8px; left: 8px; right: 8px; } /* over the map: nothing moves */
.list { position: absolute; inset: 0; overflow: auto; border: 1px solid var(--_line); border-radius: 8px; padding: 8px 12px; }
.list summary { padding: 8px 0; cursor: pointer; overflow-wrap: anywhere; }
.list .row { display: flex; gap: 8px; padding: 4px 0; align-items: baseline; }
.list .label { min-width: 5em; color: var(--_soft); overflow-wrap: anywhere; }
.list .seats { display: flex; flex-wrap: wrap; gap: 4px; }
.list .row button { border: 2px solid var(--_seat); padding: 2px 6px; }
.list .row button[aria-disabled] { color: var(--_soft); border-style: dashed; border-color: var(--_taken); text-decoration: line-through; }
.list .row button[aria-pressed="true"] { forced-color-adjust: none; background: var(--_mine); color: var(--_mine-ink, var(--_background)); border-color: var(--_ink); text-decoration: none; }
.list .area { padding: 6px 0; }
.panel { display: grid; gap: 14px; align-content: start; min-width: 0; }
.panel ul { list-style: none; margin: 0; padding: 0; }
.legend { display: grid; grid-template-columns: auto minmax(0, 1fr) fit-content(34%) fit-content(36%); column-gap: 8px; }
.legend li, .legend li > * { display: grid; grid-column: 1 / -1; grid-template-columns: subgrid; align-items: baseline; }
.legend li > * { text-align: start; padding: 2px 4px; border: 1px solid transparent; border-radius: 6px; min-height: 30px; }
.legend button[aria-pressed="true"] { background: var(--_floor); border-color: var(--_ink); }
.legend button:disabled { cursor: default; }
.legend .name, .legend .price, .areas .name { overflow-wrap: anywhere; }
.legend .price, .legend .soft { text-align: end; }
.swatch { forced-color-adjust: none; width: 14px; height: 14px; border-radius: 50%; flex: none; align-self: center; }
.soft { color: var(--_soft); font-size: 14px; }
.best { display: flex; flex-wrap: wrap; gap: 8px; align-items: end; }
.best label { display: grid; font-size: 14px; color: var(--_soft); min-width: 0; }
.best label input, .best label select { color: var(--_ink); font-size: 16px; }
.best label input { width: 5em; } .best label select { max-width: 11em; }
.areas li { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; padding: 4px 0; }
.areas .name { flex: 1; min-width: 6em; }
.areas .number { display: flex; gap: 6px; margin-inline-start: auto; }
.areas input { width: 4.5em; }
.wait { display: grid; gap: 8px; border: 1px solid var(--_line); border-radius: 6px; padding: 10px; }
.wait p { margin: 0; } .wait .buttons { display: flex; flex-wrap: wrap; gap: 8px; }
.cart { border-top: 1px solid var(--_line); padding-top: 10px; }
.cart .head, .wait .head { display: flex; justify-content: space-between; align-items: baseline; gap: 8px; }
.cart h2, .wait h2 { font-size: 1.05em; margin: 0; }
.cart li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 8px; align-items: center; padding: 3px 0; overflow-wrap: anywhere; color: var(--_soft); }
.cart li.held { color: var(--_ink); }
.cart li button { padding: 0 10px; }
.cart details { grid-column: 1 / -1; }
.areas details { flex-basis: 100%; }
summary { cursor: pointer; }
.panel img { display: block; max-width: 100%; max-height: 320px; margin-top: 6px; border-radius: 6px; }
.tip img { display: block; max-width: 100%; max-height: 160px; margin-top: 6px; border-radius: 4px; }
.time { font-variant-numeric: tabular-nums; }
.time.short { color: var(--_warn); font-weight: 600; }
.total { margin: 8px 0 0; font-weight: 600; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`;
