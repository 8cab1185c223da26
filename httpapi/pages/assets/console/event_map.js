// The map of an event with numbered seats: the state of each, and blocks drawn as rectangles.

import { Hall, SeatMap, blocked, colorsOf, free, sold, taken, words } from "/assets/holdfast-seats.js";
import { call } from "../api.js";
import { el, setText } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { count } from "./format.js";
import { act, inOrder, keepUp, select } from "./parts.js";
import { venue } from "./venue.js";

const states = { A: free, L: taken, S: sold, B: blocked };
const names = ["available", "locked", "sold", "blocked"];
const maxAtOnce = 10_000; // seats of one block

const properties = {
  background: "--card", floor: "--ground", ink: "--ink", soft: "--soft", line: "--line", mine: "--locked", focus: "--brand", warn: "--warn",
  locked: "--locked", sold: "--sold", blocked: "--soft",
};

// stateMap returns the map of an event with the state of each seat: its node with actions above it, its hall, the states, and a
// function that reads them again. on has overlay(map), seat(i), read(), which is called after it, and optionally
// rectangle(seats, area) and text(i), what else is said of a seat.
function stateMap(page, event, plan, actions, on) {
  const hall = new Hall(plan);
  const state = new Uint8Array(hall.seats);
  const available = hall.sections.map(() => 0);
  const shares = hall.sections.map(() => []); // by state
  const text = (i) => `${hall.section(i).name}, ${words.row(hall.row(i).label)}, seat ${hall.labels[i]}, ${names[state[i]]}${on.text?.(i) ?? ""}`;
  const map = new SeatMap(hall, {
    venue, stage: words.stage, state: (i) => state[i], available: (s) => available[s.number], shares: (s) => shares[s.number], text: (s) => words.free(available[s.number]),
    overlay: () => on.overlay(map), describe: (i) => ({ text: text(i) }),
    describeSection: (s) => `${s.name}, ${words.free(available[s.number])}`,
  }, {
    seat: on.seat, area: () => {}, hover: () => {}, moved: () => {},
    left: () => root.querySelector("button").focus(), rectangle: on.rectangle,
  }, words);
  const legend = el("p", { className: "legend" });
  const counts = names.map((name, n) => {
    const text = el("span");
    legend.append(el("span", {}, el("i", { className: ["free", "locked", "sold", "blocked"][n] }), text));
    return text;
  });
  const floors = select("floor", "", hall.floors.map((f) => [f, words.floorName(f)])); // where they lie on each other, one is shown
  floors.setAttribute("aria-label", words.floor);
  floors.hidden = !hall.floorsMeet;
  const showFloor = (floor) => {
    floors.value = floor;
    if (hall.floorsMeet) map.setFloor(floor);
  };
  floors.addEventListener("change", () => showFloor(floors.value));
  const toolbar = el("div", { className: "buttons" }, ...actions, el("span", { className: "spring" }), floors,
    el("button", { type: "button", textContent: "−", "aria-label": words.zoomOut, onclick: () => map.zoomOut() }),
    el("button", { type: "button", textContent: "+", "aria-label": words.zoomIn, onclick: () => map.zoomIn() }),
    el("button", { type: "button", textContent: "⤢", "aria-label": words.whole, onclick: () => map.whole() }));
  const root = el("div", { className: "stack venue" }, toolbar, map.node, legend);

  function hasOtherPlan() {
    root.replaceChildren(el("p", { className: "wrong", textContent: "The event has another seating plan now. Load the page again." }));
  }

  const refresh = inOrder(() => call("GET", `/api/admin/events/${event.id}/seats`), ({ sections }) => {
    const changed = [];
    const total = { available: 0, locked: 0, sold: 0, blocked: 0 };
    for (const s of sections) {
      const section = hall.sectionByKey.get(s.key);
      if (section === undefined || (s.states?.length ?? 0) !== section.end - section.first) return hasOtherPlan();
      available[section.number] = s.available;
      shares[section.number] = names.map((name) => s[name] / Math.max(1, s.available + s.locked + s.sold + s.blocked));
      for (const name of names) total[name] += s[name];
      for (let i = section.first; i < section.end; i++) {
        const now = states[s.states[i - section.first]];
        if (state[i] !== now) changed.push(i);
        state[i] = now;
      }
    }
    names.forEach((name, n) => setText(counts[n], `${total[name].toLocaleString("en")} ${name}`));
    map.changed(changed, hall.sections);
    on.read();
  });

  showFloor(hall.floors[0]);
  drawIn(page, map);
  keepUp(page, 5000, root, refresh);
  return { root, map, hall, state, refresh, showFloor };
}

// eventMap returns the card's map, and its hall. onSeat gets the ID of a seat that was chosen.
export function eventMap(page, event, plan, onSeat) {
  let selected = []; // seats in the rectangle
  let area; // of the plan: the rectangle
  const draw = el("button", { type: "button", textContent: "Select seats", "aria-pressed": "false", onclick: () => {
    map.drawsRectangles = !map.drawsRectangles;
    draw.setAttribute("aria-pressed", String(map.drawsRectangles));
    setText(hint, map.drawsRectangles ? "Draw a rectangle around seats, or go to a seat and hold Shift with the arrow keys, Home or End." : "");
    if (!map.drawsRectangles) mark([]);
  } });
  const hint = el("span", { className: "small soft", role: "status" });
  const block = el("button", { type: "button", className: "primary", hidden: true, onclick: () => change("block", free) });
  const unblock = el("button", { type: "button", hidden: true, onclick: () => change("unblock", blocked) });
  const { root, map, hall, state, refresh } = stateMap(page, event, plan, [draw, block, unblock, hint], {
    overlay: (m) => ({ hinted: selected.length > 500 || !m.showsSeats ? [] : selected, area }),
    seat: (i) => onSeat(hall.ids[i]), rectangle: mark,
    read: () => { if (selected.length > 0) mark(selected, area); },
  });
  root.firstChild.after(el("div", { className: "wrong", role: "alert", "data-part": "problem" }));

  const of = (which) => selected.filter((i) => state[i] === which);
  function mark(seats, where) {
    [selected, area] = [seats, where];
    const [canBlock, canUnblock] = [of(free).length, of(blocked).length];
    setText(block, `Block ${count(canBlock, "seat")}`);
    setText(unblock, `Unblock ${count(canUnblock, "seat")}`);
    const isPossible = (n) => n > 0 && n <= maxAtOnce;
    block.hidden = !isPossible(canBlock);
    unblock.hidden = !isPossible(canUnblock);
    // A part of them would be one that the operator has not chosen.
    const isTooMany = Math.max(canBlock, canUnblock) > maxAtOnce ? ` At most ${count(maxAtOnce, "seat")} at once: draw a smaller rectangle.` : "";
    setText(hint, seats.length === 0 ? where === undefined ? "" : "No seat is in the rectangle." : `${count(seats.length, "seat")} selected.${isTooMany}`);
    map.draw();
  }

  async function change(action, which) {
    const seatIds = of(which).map((i) => hall.ids[i]);
    const n = count(seatIds.length, "seat");
    if (action === "block" && !(await confirmAction(`Block ${n}?`, "They go out of sale until they are unblocked: all of them, or none.", `Block ${n}`))) return;
    await act(root, async () => {
      try {
        await call("POST", `/api/events/${event.id}/seats/${action}`, { seatIds });
        showToast(`${n} ${action}ed.`);
        mark([]);
      } finally {
        await refresh().catch(() => {}); // also after a refusal: a seat may be taken now. That it failed is said by keepUp.
      }
    });
  }

  return { map: root, hall };
}

// pickMap is a map on which seats are chosen one by one: those that are free, and the own ones, which a booking has.
// on has chosen(), called after each choice, and read(), after the states were read.
export function pickMap(page, event, plan, own, on) {
  const chosen = new Set();
  const hint = el("span", { className: "small soft", role: "status", textContent: "Choose seats, or take them back." });
  const toggle = (i) => {
    if (!chosen.delete(i)) {
      if (state[i] !== free && !mine.has(i)) return setText(hint, `Seat ${hall.ids[i]} is ${names[state[i]]}.`);
      chosen.add(i);
    }
    setText(hint, `Seat ${hall.ids[i]} ${chosen.has(i) ? "is chosen" : "is not chosen any more"}.`);
    map.changed([i], []);
    return on.chosen();
  };
  const { root, map, hall, state, refresh, showFloor } = stateMap(page, event, plan, [hint], {
    overlay: () => ({ mine: [...chosen], hinted: [...mine].filter((i) => !chosen.has(i)) }),
    seat: toggle, read: on.read, text: (i) => (chosen.has(i) ? ", chosen" : mine.has(i) ? ", given back" : ""),
  });
  const mine = new Set(own.map((id) => hall.byID.get(id)).filter((i) => i !== undefined));
  for (const i of mine) chosen.add(i);
  for (const i of [...mine].slice(0, 1)) showFloor(hall.section(i).floor);
  const isOwn = (i) => mine.has(i);
  return {
    root, hall, toggle, isOwn,
    chosen: () => [...chosen].sort((a, b) => a - b), own: () => [...mine],
    isTaken: (i) => state[i] !== free && !isOwn(i),
    clear: () => {
      chosen.clear();
      on.chosen();
    },
    refresh: () => refresh().catch(() => {}), // that it failed is said by keepUp
  };
}

// planMap draws a plan: the seats by their categories, all free. It ends with the signal of page.
export function planMap(page, plan) {
  const hall = new Hall(writtenOut(plan));
  const of = (s) => s.capacity || s.end - s.first;
  const map = new SeatMap(hall, {
    stage: words.stage, state: () => free, available: of, text: (s) => count(of(s), "seat"), overlay: () => ({}),
    describe: (i) => ({ text: `${hall.section(i).name}, ${words.row(hall.row(i).label)}, seat ${hall.labels[i]}, ${hall.categories[hall.category[i]].name}` }),
    describeSection: (s) => `${s.name}, ${count(of(s), "seat")}`,
  }, { seat: () => {}, area: () => {}, hover: () => {}, moved: () => {}, left: () => {} }, words);
  if (hall.floorsMeet) map.setFloor(hall.floors[0]);
  drawIn(page, map);
  return el("div", { className: "venue" }, map.node);
}

// drawIn gives the map the page's colors once it is in the page, and ends it with the page.
function drawIn(page, map) {
  const colors = () => map.setColors(colorsOf(map.node, properties));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", colors, { signal: page.signal });
  if (page.signal.aborted) map.stop();
  else page.signal.addEventListener("abort", () => map.stop());
  requestAnimationFrame(colors);
}

// writtenOut is a plan with what the server adds: seats in place of their number, labels, categories and positions.
function writtenOut(plan) {
  const seatsOf = (s, row) => (typeof row.seats === "number"
    ? Array.from({ length: row.seats }, (_, i) => ({ id: `${s.key}-${row.key}-${i + 1}` })) : row.seats);
  return { ...plan, sections: plan.sections.map((s) => ({ ...s, rows: s.rows?.map((row, y) => ({ ...row, seats: seatsOf(s, row).map((seat, i) => seat && {
    label: String(i + 1), x: i + 1, y, ...seat, category: seat.category || row.category || s.category,
  }) })) })) };
}
