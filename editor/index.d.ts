// The types of the package. tools/browser/packages.test.mjs compares them with the element and with README.md.

/** A seating plan, as POST /api/seating-plans takes it. */
export interface Plan {
  name: string;
  categories: { key: string; name: string; color?: string }[];
  focalPoint?: { x: number; y: number };
  sections: Section[];
  decorations?: Decoration[];
}

export interface Section {
  key: string;
  name: string;
  category: string;
  floor?: string;
  entrance?: string;
  viewUrl?: string;
  /** Either rows or a capacity. */
  rows?: Row[];
  capacity?: number;
  outline?: Point[];
}

export interface Row {
  key: string;
  label?: string;
  category?: string;
  adjacency?: "LINE" | "NONE" | "ALL";
  /** In the physical order; null is a gap. */
  seats: (Seat | null)[];
}

export interface Seat {
  id: string;
  label?: string;
  x?: number;
  y?: number;
  category?: string;
  accessible?: boolean;
  companion?: boolean;
  restrictedView?: boolean;
  note?: string;
  viewUrl?: string;
}

export type Point = [x: number, y: number];

export interface Decoration {
  kind: "stage" | "area" | "wall" | "text" | "icon";
  points?: Point[];
  at?: Point;
  text?: string;
  icon?: string;
  floor?: string;
}

export interface HoldfastPlanEditorEventMap extends HTMLElementEventMap {
  changed: Event;
  save: CustomEvent<{ plan: Plan }>;
}

export declare class HoldfastPlanEditor extends HTMLElement {
  /** To set a plan opens a copy of a stored one, whose seats keep their IDs. */
  get plan(): Plan;
  set plan(plan: object);
  token?: string | (() => string | Promise<string>);
  call?: (method: string, path: string, body?: unknown) => Promise<unknown>;
  get words(): object;
  set words(words: object);
  get totalSeats(): number;
  get isChanged(): boolean;
  open(plan?: object, options?: { isStored?: boolean }): void;
  keep(document: string): Promise<void>;
  save(): void;
  saved(): Promise<void>;
  undo(): void;
  redo(): void;
  addEventListener<K extends keyof HoldfastPlanEditorEventMap>(
    type: K, listener: (this: HoldfastPlanEditor, event: HoldfastPlanEditorEventMap[K]) => unknown, options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

export declare const version: string;

declare global {
  interface HTMLElementTagNameMap {
    "holdfast-plan-editor": HoldfastPlanEditor;
  }
}
