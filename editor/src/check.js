// What is wrong with a plan: the server's rules, with its paths and messages, so that a plan that has no problem here is accepted there.
// test/vectors holds both to the same answers. findings.js has what else a drawing may want.

/** limits of a plan, as the server has them. */
export const limits = {
  sections: 500, categories: 64, seats: 200_000, sectionSeats: 20_000, rowSeats: 500, rowPlaces: 1_000, outlinePoints: 200, keyLength: 32,
  seatIDLength: 64, nameLength: 200, labelLength: 32, noteLength: 200, coordinate: 100_000, totalSeats: 10_000_000, problems: 100,
  viewURLLength: 500, decorations: 2_000, decorationPoints: 200, decorationTextLength: 200, allDecorationPoints: 20_000,
};

/**
 * check returns the first 100 problems; none if the server accepts the plan.
 * @param {any} plan as it is drawn, or as POST /api/seating-plans takes it
 * @returns {{ where: string, what: string }[]} where: a path such as sections[3].rows[2].seats[7].id
 */
export function check(plan) {
  const long = tooLong(plan);
  if (long.length > 0) return long;
  const c = new Checker();
  c.text("name", plan.name, limits.nameLength);
  if (plan.focalPoint) {
    c.coordinate("focalPoint.x", plan.focalPoint.x);
    c.coordinate("focalPoint.y", plan.focalPoint.y);
  }
  c.decorations(plan.decorations ?? []);
  c.number("categories", plan.categories.length, 1, limits.categories);
  plan.categories.forEach((category, i) => c.category(`categories[${i}]`, category));
  c.number("sections", plan.sections.length, 1, limits.sections);
  const keys = new Set();
  for (let i = 0; i < plan.sections.length && !c.isFull; i++) {
    c.unique(`sections[${i}]`, plan.sections[i].key, keys);
    c.section(`sections[${i}]`, plan.sections[i]);
  }
  if (c.numbered > limits.seats) c.add("sections", `The rows have ${c.numbered} seats; a plan must have at most ${limits.seats}.`);
  const total = c.numbered + c.capacities;
  if (total > limits.totalSeats) c.add("sections", `The rows and capacities have ${total} seats; a plan must have at most ${limits.totalSeats}.`);
  return c.problems;
}

// tooLong are the problems of lists that the server does not read to their end, so that it has no others for the plan.
function tooLong(plan) {
  const problems = [];
  const list = (where, items, most) => {
    if (items.length > most) problems.push({ where: `${where}[${most}]`, what: `The list must have at most ${most} items.` });
  };
  let [rows, seats] = [0, 0];
  const counted = (n, where) => {
    if (n === limits.seats + 1) problems.push({ where: where(), what: `A plan must have at most ${limits.seats} seats in rows.` });
  };
  list("categories", plan.categories, limits.categories);
  list("decorations", plan.decorations ?? [], limits.decorations);
  plan.decorations?.forEach((d, i) => list(`decorations[${i}].points`, d.points ?? [], limits.decorationPoints));
  plan.sections.forEach((s, n) => {
    s.rows?.forEach((row, r) => {
      counted(++rows, () => `sections[${n}].rows[${r}]`);
      if (typeof row.seats === "number") return;
      row.seats.forEach((seat, i) => seat && i < limits.rowPlaces && counted(++seats, () => `sections[${n}].rows[${r}].seats[${i}]`));
      list(`sections[${n}].rows[${r}].seats`, row.seats, limits.rowPlaces);
    });
    list(`sections[${n}].outline`, s.outline ?? [], limits.outlinePoints);
  });
  list("sections", plan.sections, limits.sections);
  return problems.slice(0, limits.problems);
}

class Checker {
  problems = [];
  categories = new Set();
  seats = new Map(); // where an ID is; for a seat of a counted row, where the row is
  numbered = 0; // seats in rows
  capacities = 0;

  get isFull() { return this.problems.length >= limits.problems; }

  add(where, what) {
    if (!this.isFull) this.problems.push({ where, what });
  }

  category(at, { key, name, color }) {
    if (!this.unique(at, key, this.categories)) return;
    this.text(`${at}.name`, name, limits.nameLength);
    if (color && !/^#[0-9a-fA-F]{6}$/.test(color)) this.add(`${at}.color`, "color must have the form #rrggbb.");
  }

  section(at, s) {
    const { rows = [], capacity = 0, outline = [] } = s;
    this.text(`${at}.name`, s.name, limits.nameLength);
    this.text(`${at}.floor`, s.floor, limits.nameLength, true);
    this.text(`${at}.entrance`, s.entrance, limits.nameLength, true);
    this.viewURL(() => at, s.viewUrl);
    this.known(at, s.category);
    this.number(`${at}.outline`, outline.length, 0, limits.outlinePoints);
    outline.slice(0, limits.outlinePoints).forEach(([x, y], i) => {
      if (!isInRange(x) || !isInRange(y)) this.add(`${at}.outline[${i}]`, coordinateProblem);
    });
    if (capacity !== 0 && rows.length > 0) {
      this.add(`${at}.capacity`, "A section must have either rows or a capacity, not both.");
    } else if (capacity !== 0) {
      if (this.number(`${at}.capacity`, capacity, 1, limits.totalSeats)) this.capacities += capacity;
      return;
    } else if (rows.length === 0) {
      this.add(`${at}.rows`, "A section must have at least one row, or a capacity.");
    }
    const before = this.numbered;
    const keys = new Set();
    for (let i = 0; i < rows.length; i++) {
      if (this.isFull) return;
      this.unique(`${at}.rows[${i}]`, rows[i].key, keys);
      this.row(`${at}.rows[${i}]`, s.key, rows[i]);
    }
    const n = this.numbered - before;
    if (n > limits.sectionSeats) this.add(`${at}.rows`, `The rows have ${n} seats; a section must have at most ${limits.sectionSeats}.`);
  }

  row(at, section, row) {
    this.text(`${at}.label`, row.label, limits.labelLength, true);
    if (row.category) this.known(at, row.category);
    if (row.adjacency && !["LINE", "NONE", "ALL"].includes(row.adjacency)) this.add(`${at}.adjacency`, "adjacency must be LINE, NONE or ALL.");
    if (typeof row.seats === "number") {
      if (this.number(`${at}.seats`, row.seats, 1, limits.rowSeats)) {
        this.numbered += row.seats;
        this.countedIDs(at, section, row);
      }
      return;
    }
    let n = 0;
    for (let i = 0; i < row.seats.length; i++) {
      if (row.seats[i] === null) continue;
      n++;
      if (!this.isFull) this.seat(at, i, row.seats[i]);
    }
    this.numbered += n;
    this.number(`${at}.seats`, n, 1, limits.rowSeats);
    if (row.seats.length > limits.rowPlaces) this.add(`${at}.seats`, `A row must have at most ${limits.rowPlaces} seats and gaps.`);
  }

  // countedIDs checks the IDs that the server makes of a number of seats.
  countedIDs(at, section, { key, seats }) {
    if (!isKey(section, limits.keyLength) || !isKey(key, limits.keyLength)) return;
    const longest = `${section}-${key}-${seats}`;
    if (longest.length > limits.seatIDLength) {
      this.add(`${at}.seats`, `Seat IDs made from the number, such as ${longest}, have more than ${limits.seatIDLength} characters. List the seats instead.`);
      return;
    }
    for (let position = 1; position <= seats && !this.isFull; position++) {
      const id = `${section}-${key}-${position}`;
      const first = this.seats.get(id);
      if (first !== undefined) {
        this.add(`${at}.seats`, `The seat ID ${id}, made from the number, is also at ${pathOf(first)}. Seat IDs must be unique in the plan.`);
        return;
      }
      this.seats.set(id, at);
    }
  }

  // Paths of seats are made for problems alone: a plan has 200,000 seats.
  seat(row, place, seat) {
    const at = () => pathOf([row, place]);
    const first = this.seats.get(seat.id);
    if (!isKey(seat.id, limits.seatIDLength)) this.add(`${at()}.id`, keyProblem(limits.seatIDLength));
    else if (routeNames.has(seat.id)) this.add(`${at()}.id`, `${seat.id} is not a valid seat ID, because a route has that name.`);
    else if (first !== undefined) this.add(`${at()}.id`, `The seat ID is also at ${pathOf(first)}. Seat IDs must be unique in the plan.`);
    else this.seats.set(seat.id, [row, place]);
    if (seat.label) this.text(() => `${at()}.label`, seat.label, limits.labelLength, true);
    if (seat.note) this.text(() => `${at()}.note`, seat.note, limits.noteLength, true);
    if (seat.viewUrl) this.viewURL(at, seat.viewUrl);
    if (seat.category && !this.categories.has(seat.category)) this.known(at(), seat.category);
    if (seat.x != null && !isInRange(seat.x)) this.coordinate(`${at()}.x`, seat.x);
    if (seat.y != null && !isInRange(seat.y)) this.coordinate(`${at()}.y`, seat.y);
  }

  decorations(all) {
    let points = 0;
    for (let i = 0; i < all.length; i++) {
      if (this.isFull) return;
      points += all[i].points?.length ?? 0;
      this.decoration(`decorations[${i}]`, all[i]);
    }
    if (points > limits.allDecorationPoints) {
      this.add("decorations", `The decorations have ${points} points; a plan must have at most ${limits.allDecorationPoints}.`);
    }
  }

  decoration(at, d) {
    const { kind, text = "", icon = "" } = d;
    if (kind === "stage" || kind === "area" || kind === "wall") this.points(at, d, kind === "wall" ? 2 : 3);
    else if (kind === "text" || kind === "icon") this.position(at, d);
    else {
      this.add(`${at}.kind`, "kind must be stage, area, wall, text or icon.");
      return;
    }
    if (kind === "wall" && text !== "") this.add(`${at}.text`, "A wall must have no text.");
    else this.text(`${at}.text`, text, limits.decorationTextLength, kind !== "text");
    if (kind === "icon" && !icons.includes(icon)) this.add(`${at}.icon`, `icon must be one of ${icons.join(", ")}.`);
    if (kind !== "icon" && icon !== "") this.add(`${at}.icon`, "Only a decoration of the kind icon may have an icon.");
    this.text(`${at}.floor`, d.floor, limits.nameLength, true);
  }

  points(at, { kind, points = [], at: position }, least) {
    if (position) this.add(`${at}.at`, `A decoration of the kind ${kind} has points, and must have no at.`);
    this.number(`${at}.points`, points.length, least, limits.decorationPoints);
    points.forEach(([x, y], i) => {
      if (!isInRange(x) || !isInRange(y)) this.add(`${at}.points[${i}]`, coordinateProblem);
    });
  }

  position(at, { kind, points = [], at: position }) {
    if (points.length > 0) this.add(`${at}.points`, `A decoration of the kind ${kind} has a position at, and must have no points.`);
    if (!position) this.add(`${at}.at`, `A decoration of the kind ${kind} must have a position.`);
    else if (!isInRange(position[0]) || !isInRange(position[1])) this.add(`${at}.at`, coordinateProblem);
  }

  viewURL(at, url) {
    if (!url || isViewURL(url)) return;
    this.add(`${at()}.viewUrl`, "viewUrl must begin with https:// and a host, without a user name, and have at most " +
      `${limits.viewURLLength} characters, all of ASCII; write others with %.`);
  }

  // unique checks a key, and that it is new. It returns false if there is no room for a problem.
  unique(at, key, keys) {
    if (this.isFull) return false;
    if (!isKey(key, limits.keyLength)) this.add(`${at}.key`, keyProblem(limits.keyLength));
    else if (keys.has(key)) this.add(`${at}.key`, `The key ${key} occurs twice. Keys must be unique.`);
    keys.add(key);
    return true;
  }

  known(at, category) {
    if (!this.categories.has(category)) this.add(`${at}.category`, "The plan has no category with this key.");
  }

  number(where, n, least, most) {
    if (n >= least && n <= most) return true;
    this.add(where, `The number must be from ${least} to ${most}, not ${n}.`);
    return false;
  }

  text(where, text = "", most, mayBeAbsent = false) {
    const what = textProblem(text, most, mayBeAbsent);
    if (what !== undefined) this.add(typeof where === "string" ? where : where(), what);
  }

  coordinate(where, v) {
    if (!isInRange(v)) this.add(where, coordinateProblem);
  }
}

/** icons are the names of the decorations of the kind icon. */
export const icons = ["bar", "entrance", "exit", "lift", "stairs", "toilet", "cloakroom", "food", "first-aid", "information"];

// isViewURL reports whether a text is an https URL of a host, with nothing that HTML or SVG gives a meaning but &.
function isViewURL(text) {
  const found = /^https:\/\/[A-Za-z0-9][A-Za-z0-9.-]*(?::([0-9]{1,5}))?(?:[/?#][!#-;=?-\[\]_a-z~]*)?$/.exec(text);
  return found !== null && Number(found[1] ?? 0) <= 65_535 && text.length <= limits.viewURLLength;
}

const pathOf = (at) => (typeof at === "string" ? at : `${at[0]}.seats[${at[1]}]`);

const routeNames = new Set(["stream", "block", "unblock"]);

const keyProblem = (most) => `It must have 1 to ${most} letters, digits, dots, underscores and hyphens, and begin with a letter or a digit.`;

const isKey = (text = "", most) => text.length <= most && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(text);

const coordinateProblem = `A coordinate must be from -${limits.coordinate} to ${limits.coordinate}.`;

const isInRange = (v) => Math.abs(Math.round(v * 1000)) <= limits.coordinate * 1000;

const blank = /^\p{White_Space}*$/u;

// Control characters, and the embeddings, overrides and isolates of the bidirectional algorithm.
const control = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

function textProblem(text, most, mayBeAbsent) {
  if (text === "" && mayBeAbsent) return undefined;
  if (blank.test(text)) return "The text must not be blank.";
  if (text.length > most && [...text].length > most) return `The text must have at most ${most} characters.`;
  return control.test(text) ? "The text must not have control characters." : undefined;
}
