// A clerk who draws halls in the plan editor: with real events of mouse, keyboard and touch screen alone, but for colours, which are chosen in a
// window of the browser's own. Controls are found by their labels, as a person finds them, and places of the plan by the camera.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fromServer } from "../../editor/src/plan.js";
import { at, choose, drag, editorOf } from "./plan-editor.mjs";

/**
 * Clerk counts what it does: a gesture is a click, a drag, a key, or the way of the cross to a place; a field is one that gets another value. A field is found
 * by its label; nth is for labels that are there more than once.
 */
export class Clerk {
  gestures = 0;
  fields = 0;

  constructor(page) {
    this.page = page;
    this.editor = editorOf(page);
  }

  get #keyboard() { return this.page.keyboard; }

  says(hall) {
    const minutes = (4 * this.gestures + 10 * this.fields) / 60;
    console.log(`${hall}: ${this.gestures} gestures and ${this.fields} fields, about ${Math.round(minutes)} minutes at 4 s and 10 s`);
  }

  async keys(...names) {
    for (const name of names) {
      this.gestures++;
      await this.#keyboard.press(name);
    }
  }

  tool(name) {
    this.gestures++;
    return choose(this.page, name);
  }

  press(name) {
    this.gestures++;
    return this.editor.getByRole("button", { name, exact: true }).click();
  }

  tab(name) {
    this.gestures++;
    return this.editor.getByRole("tab", { name }).click();
  }

  tick(label) {
    this.gestures++;
    return this.#field("input", label, 0).click();
  }

  #field(tag, label, nth) { return this.editor.locator(`${tag}:visible`).and(this.editor.getByLabel(label, { exact: true })).nth(nth); }

  async type(label, text, nth = 0) {
    this.fields++;
    await this.#field("input", label, nth).click();
    await this.#enter(text);
  }

  async #enter(text) {
    await this.#keyboard.press("Control+A");
    await this.#keyboard.type(String(text));
    await this.#keyboard.press("Enter");
  }

  async typeAll(values) { for (const [label, text] of Object.entries(values)) await this.type(label, text); }

  async pick(label, option, nth = 0) {
    this.fields++;
    await this.#field("select", label, nth).focus();
    await this.#step(option);
  }

  // #step goes to an option of the list that has the focus, by arrow keys.
  async #step(option) {
    const way = () => this.editor.evaluate((e, text) => {
      const { options, selectedIndex } = e.shadowRoot.activeElement;
      return [...options].findIndex((o) => o.textContent === text) - selectedIndex;
    }, option);
    const steps = await way();
    for (let i = 0; i < Math.abs(steps); i++) await this.#keyboard.press(steps > 0 ? "ArrowDown" : "ArrowUp");
    assert.equal(await way(), 0, option);
  }

  /** slide moves a slider by arrow keys to a number. */
  async slide(label, number) {
    this.fields++;
    const slider = this.#field("input", label, 0);
    await slider.focus();
    const steps = number - Number(await slider.inputValue());
    for (let i = 0; i < Math.abs(steps); i++) await this.#keyboard.press(steps > 0 ? "ArrowRight" : "ArrowLeft");
  }

  /** newCategory adds a category: the field of its name has the focus. */
  async newCategory(name) {
    await this.press("Add a category");
    this.fields++;
    await this.#keyboard.type(name);
    await this.#keyboard.press("Enter");
  }

  /** colors gives categories their colours. */
  async colors(categories) {
    for (const { name, color } of categories) {
      this.fields++;
      await this.#field("input", `Colour: ${name}`, 0).fill(color);
    }
  }

  // -- the mouse

  async drag(from, to) {
    this.gestures++;
    await drag(this.page, from, to);
  }

  async click(...points) {
    for (const point of points) {
      this.gestures++;
      await this.page.mouse.click(...await at(this.page, ...point));
    }
  }

  /** add does something with the mouse while Shift is down. */
  async add(work) {
    await this.#keyboard.down("Shift");
    await work();
    await this.#keyboard.up("Shift");
  }

  /** take selects what is at points, instead of what was selected. */
  async take(first, ...others) {
    await this.click(first);
    await this.add(() => this.click(...others));
  }

  async tap(...points) {
    for (const point of points) {
      this.gestures++;
      await this.page.touchscreen.tap(...await at(this.page, ...point));
    }
  }

  /** swipe drags with a finger. */
  async swipe(from, to) {
    this.gestures++;
    const client = await this.page.context().newCDPSession(this.page);
    const touch = (type, ...points) => client.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y]) => ({ x, y })) });
    const [[x0, y0], [x1, y1]] = [await at(this.page, ...from), await at(this.page, ...to)];
    await touch("touchStart", [x0, y0]);
    for (let i = 1; i <= 4; i++) await touch("touchMove", [x0 + ((x1 - x0) * i) / 4, y0 + ((y1 - y0) * i) / 4]);
    await touch("touchEnd");
    await client.detach();
  }

  /** section opens the properties of a section, selects it, and fills fields in. */
  async section(name, values = {}) {
    await this.tab("Plan");
    await this.press(`Select ${name}`);
    await this.typeAll(values);
    await this.tab("Draw");
  }

  // -- the keyboard alone

  /** reach goes to a control by Tab. */
  async reach(label, nth = 0) {
    this.gestures++;
    for (let i = 0; i < 200; i++) {
      const way = await this.editor.evaluate((e, [text, n]) => {
        const nameOf = (c) => c.getAttribute("aria-label") ?? c.labels?.[0]?.textContent ?? c.textContent;
        const all = [...e.shadowRoot.querySelectorAll("button, input, select")].filter((c) => c.checkVisibility() && nameOf(c) === text);
        const control = all[n];
        const active = e.shadowRoot.activeElement;
        if (control === undefined) return undefined;
        return control === active ? 0 : active.compareDocumentPosition(control) & Node.DOCUMENT_POSITION_FOLLOWING ? 1 : -1;
      }, [label, nth]);
      assert.notEqual(way, undefined, `There is no control ${label}.`);
      if (way === 0) return;
      await this.#keyboard.press(way > 0 ? "Tab" : "Shift+Tab");
    }
    assert.fail(`Tab does not get to ${label}.`);
  }

  /** hit goes to a button or a tick box, and presses it. */
  async hit(label) {
    await this.reach(label);
    await this.#keyboard.press("Space");
  }

  /** write goes to a field, and types; choose goes to a list. */
  async write(label, text, nth = 0) {
    await this.reach(label, nth);
    this.gestures--;
    this.fields++;
    await this.#enter(text);
  }

  async writeAll(values) { for (const [label, text] of Object.entries(values)) await this.write(label, text); }

  async choose(label, option, nth = 0) {
    await this.reach(label, nth);
    this.gestures--;
    this.fields++;
    await this.#step(option);
  }

  /** goTo moves the cross to a place, by arrow keys. */
  async goTo(x, y) {
    this.gestures++;
    const way = () => this.editor.evaluate((e, [toX, toY]) => {
      const { cursor } = e.board;
      const { grid } = e.drawing.options;
      return cursor && [(toX - cursor.x) / grid, (toY - cursor.y) / grid].map(Math.round);
    }, [x, y]);
    if (await way() === undefined) await this.#keyboard.press("Control+ArrowRight"); // it appears
    const [right, down] = await way();
    for (const [steps, more, less] of [[right, "ArrowRight", "ArrowLeft"], [down, "ArrowDown", "ArrowUp"]]) {
      const [leaps, rest] = [Math.floor(Math.abs(steps) / 10), Math.abs(steps) % 10];
      const key = steps > 0 ? more : less;
      for (let i = 0; i < leaps; i++) await this.#keyboard.press(`Control+Shift+${key}`);
      for (let i = 0; i < rest; i++) await this.#keyboard.press(`Control+${key}`);
    }
  }

  /** takeByKeys selects the seats at places. */
  async takeByKeys(first, ...others) {
    await this.goTo(...first);
    await this.keys("Enter");
    for (const point of others) {
      await this.goTo(...point);
      await this.keys("Shift+Enter");
    }
  }
}

/** example is one of the halls of seats/planfile/examples. */
export const example = (name) => JSON.parse(readFileSync(new URL(`../../seats/planfile/examples/${name}.json`, import.meta.url), "utf8"));

/** stored is the plan of a name that the server has. */
export async function stored(holdfast, name) {
  const { items } = await holdfast.ask("GET", "/api/seating-plans");
  return holdfast.ask("GET", `/api/seating-plans/${items.find((p) => p.name === name).id}`);
}

/**
 * assertSameHall compares a plan that was drawn with an example: all but keys and IDs, which the editor makes of names, and gaps at the ends of rows,
 * which say nothing. Seats may be `near` apart, in metres.
 */
export function assertSameHall(plan, wanted, near) {
  const [drawn, hall] = [plain(plan), plain(wanted)];
  assert.deepEqual([drawn.name, drawn.categories, drawn.focalPoint], [hall.name, hall.categories, hall.focalPoint]);
  assert.deepEqual(drawn.sections.map((s) => s.name), hall.sections.map((s) => s.name));
  let farthest = 0;
  hall.sections.forEach((section, n) => {
    const { rows, ...rest } = drawn.sections[n];
    const { rows: wantedRows, ...wantedRest } = section;
    assert.deepEqual(rest, wantedRest);
    assert.deepEqual(rows?.map((r) => r.label), wantedRows?.map((r) => r.label), section.name);
    wantedRows?.forEach((row, r) => {
      const at = `${section.name}, ${row.label}`;
      assert.deepEqual(withoutPlaces(rows[r]), withoutPlaces(row), at);
      row.seats.forEach((seat, i) => {
        if (seat === null) return;
        const far = Math.hypot(seat.x - rows[r].seats[i].x, seat.y - rows[r].seats[i].y);
        assert.ok(far <= near, `${at}, seat ${seat.label} is ${far} away: ${JSON.stringify([rows[r].seats[i], seat])}`);
        farthest = Math.max(farthest, far);
      });
    });
  });
  console.log(`${hall.name}: no seat is more than ${farthest.toFixed(3)} from where the example has it`);
}

// withoutPlaces is a row with each seat as a text, so that a difference is one line.
const withoutPlaces = ({ seats, ...row }) => ({
  ...row, seats: seats.map((seat) => seat && JSON.stringify({ ...seat, x: 0, y: 0 }, Object.keys(seat).sort())),
});

// plain is a plan written out, with names in place of keys.
function plain(plan) {
  const { name, categories, sections, focalPoint } = fromServer(plan);
  const nameOf = new Map(categories.map((c) => [c.key, c.name]));
  const named = (part) => ({ ...part, category: nameOf.get(part.category) });
  const trimmed = (seats) => seats.slice(seats.findIndex(Boolean), seats.findLastIndex(Boolean) + 1);
  return {
    name, focalPoint, categories: categories.map((c) => [c.name, c.color]),
    sections: sections.map(({ key, rows, outline, ...section }) => named({
      ...section, outline: outline && fromCorner(outline),
      rows: rows?.map(({ key: _, ...row }) => named({ ...row, seats: trimmed(row.seats).map((seat) => seat && { ...named(seat), id: "" }) })),
    })),
  };
}

// fromCorner is a polygon from its leftmost corner, in the one of both directions whose next corner is farther left: it is the same area.
function fromCorner(points) {
  const before = (a, b) => a[0] - b[0] || a[1] - b[1];
  const first = points.indexOf(points.toSorted(before)[0]);
  const [start, ...others] = [...points.slice(first), ...points.slice(0, first)];
  return [start, ...before(others[0], others.at(-1)) <= 0 ? others : others.toReversed()];
}
