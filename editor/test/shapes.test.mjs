import assert from "node:assert/strict";
import { test } from "node:test";
import { distance, turn } from "../src/points.js";
import * as shapes from "../src/shapes.js";
import { rowsOf, withSeatsOfRows } from "../src/tools/rows.js";
import { Random } from "./random.mjs";

const near = (a, b, most = 0.0015) => assert.ok(distance(a, b) <= most, `${a} is not ${b}`);
const nearRows = (rows, others, most) => {
  assert.deepEqual(rows.map((row) => row.map(Boolean)), others.map((row) => row.map(Boolean)));
  rows.forEach((row, r) => row.forEach((p, i) => p && near(p, others[r][i], most)));
};
const steps = (row) => row.slice(1).flatMap((p, i) => (p && row[i] ? [distance(p, row[i])] : []));
const evenly = (row, spacing, most = 0.003) => steps(row).forEach((d) => assert.ok(Math.abs(d - spacing) <= most, `${d} is not ${spacing}`));

test("a list of numbers of seats makes a block with a row for each, around the same middle", () => {
  const shape = { rows: 8, seats: 12, spacing: 1, rowSpacing: 1, at: [0, 0] };
  const listed = { ...shape, ...withSeatsOfRows(shape, "2, 4; 3 nonsense -1 0 501") };
  assert.deepEqual([listed.rows, listed.seats], [3, [2, 4, 3]]);
  assert.deepEqual(rowsOf(listed).map((row) => row.map(([x]) => x)), [[-0.5, 0.5], [-1.5, -0.5, 0.5, 1.5], [-1, 0, 1]]);
  assert.deepEqual(rowsOf({ ...listed, rotation: 0, aisles: [0.5], aisle: 2 })[0], [[-1.5, 0], null, [1.5, 0]]);
  assert.deepEqual(withSeatsOfRows(listed, " "), { rows: 3, seats: 2 });
});

test("a block has its rows behind each other, and at is the middle of the front row", () => {
  assert.deepEqual(shapes.block({ rows: 2, seats: 3, at: [10, 5] }), [[[9, 5], [10, 5], [11, 5]], [[9, 6], [10, 6], [11, 6]]]);
  assert.deepEqual(shapes.block({ rows: 2, seats: 3, skew: 0.5, spacing: 2, rowSpacing: 3 }), [[[-2, 0], [0, 0], [2, 0]], [[-1.5, 3], [0.5, 3], [2.5, 3]]]);
  assert.deepEqual(shapes.block({ rows: 2, seats: [1, 2], rotation: 90 }), [[[0, 0]], [[-1, -0.5], [-1, 0.5]]]);
});

test("aisles are gaps with a width, after a number or a share of the seats", () => {
  assert.deepEqual(shapes.block({ rows: 1, seats: 4, aisles: [0.5], aisle: 2 }), [[[-2.5, 0], [-1.5, 0], null, [1.5, 0], [2.5, 0]]]);
  assert.deepEqual(shapes.block({ rows: 1, seats: 3, aisles: [1] }).map((row) => row.map(Boolean)), [[true, false, true, true]]);
  assert.deepEqual(shapes.block({ rows: 2, seats: [2, 5], aisles: [2] }).map((row) => row.map(Boolean)), [[true, true], [true, true, false, true, true, true]]);
});

test("a curved block is a part of rings around one middle, with seats at even distances", () => {
  for (const curvature of [0.05, -0.02]) {
    const rows = shapes.block({ rows: 6, seats: 21, spacing: 0.6, rowSpacing: 0.9, curvature });
    const middle = [0, -1 / curvature];
    rows.forEach((row, k) => {
      evenly(row, 0.6);
      for (const p of row) assert.ok(Math.abs(distance(p, middle) - Math.abs(1 / curvature + 0.9 * k)) < 0.002);
    });
    assert.ok(curvature > 0 ? rows[0][0][1] < 0 : rows[0][0][1] > 0, "the ends are nearer to the stage, or farther");
  }
});

test("a fan has more seats in the rows behind", () => {
  const rows = shapes.block({ rows: 4, seats: 5, fan: 90 });
  assert.deepEqual(rows.map((row) => row.length), [5, 7, 9, 11]);
});

test("aisles of a fan go straight on: the blocks at the sides have the seats that are more", () => {
  const rows = shapes.block({ rows: 7, seats: 8, fan: 60, aisles: [2, 6] });
  const blocks = rows.map((row) => row.map((p) => (p ? "x" : " ")).join("").split(" ").map((b) => b.length));
  assert.deepEqual(blocks.slice(0, 4), [[2, 4, 2], [2, 4, 3], [3, 4, 3], [3, 4, 4]]);
  assert.deepEqual(blocks.at(-1), [5, 4, 5]);
  assert.ok(rows.every((row) => Math.abs(row[row.indexOf(null) - 1][0] + 3.5) <= 0.5)); // the seat at the left aisle
});

test("a block is measured as it was made, and laid out again where it was", () => {
  const r = new Random(5);
  for (let i = 0; i < 300; i++) {
    const options = {
      rows: r.int(1, 12), seats: r.int(6, 30), spacing: r.real(0.4, 2), rowSpacing: r.real(0.5, 2), curvature: r.of([0, 0, r.real(-0.01, 0.02)]), fan: r.int(0, 30),
      rotation: r.int(-179, 180), aisles: r.of([[], [0.5], [3]]), at: r.point(),
    };
    const rows = shapes.block(options);
    const found = shapes.measure(rows);
    const at = JSON.stringify([options, found]);
    assert.ok(Math.abs(found.spacing - options.spacing) < 0.01, at);
    assert.ok(options.rows === 1 || Math.abs(found.rowSpacing - options.rowSpacing) < 0.05, at);
    assert.ok(Math.abs(found.curvature - options.curvature) < 0.003, at);
    assert.ok(Math.abs(((found.rotation - options.rotation + 540) % 360) - 180) < 0.2, at);
    near(found.at, options.at, 0.05);
    assert.deepEqual(shapes.reshape(rows, {}), rows, at);
    if (options.fan === 0 && options.curvature === 0) {
      nearRows(shapes.reshape(rows, { curvature: 0.01 }), shapes.block({ ...options, curvature: 0.01 }), 0.05);
      nearRows(shapes.reshape(rows, { spacing: 1.5 }), shapes.block({ ...options, spacing: 1.5, aisle: (options.spacing / found.spacing) * 1.5 }), 0.08);
      nearRows(shapes.reshape(rows, { rowSpacing: 3 }), shapes.block({ ...options, rowSpacing: 3 }), 0.05);
    }
  }
});

test("a row that is shorter on one side stays on the other", () => {
  const rows = shapes.block({ rows: 4, seats: 9 });
  rows[1] = rows[1].slice(4);
  rows[2] = [...rows[2].slice(0, 3), null, ...rows[2].slice(5)];
  assert.deepEqual(shapes.reshape(rows, { curvature: 0 }), rows);
  assert.deepEqual(shapes.reshape(rows, { spacing: 2 })[1], [[0, 1], [2, 1], [4, 1], [6, 1], [8, 1]]);
  const bent = shapes.block({ rows: 4, seats: 9, curvature: 0.05 });
  nearRows([shapes.reshape(rows, { curvature: 0.05 })[1]], [bent[1].slice(4)], 0.01);
});

test("the direction of rows behind a short front row is that of the longer ones", () => {
  const found = shapes.measure(shapes.block({ rows: 5, seats: [1, 9, 10, 11, 12], rotation: 60, at: [3, 3] }));
  assert.ok(Math.abs(found.rotation - 60) < 0.1, JSON.stringify(found));
  near(found.at, [3, 3]);
});

test("rows that were moved by hand keep that when their distance changes, and lose it when they are made even", () => {
  const rows = shapes.block({ rows: 3, seats: 5 });
  rows[1][2] = [0.1, 1.2];
  assert.deepEqual(shapes.reshape(rows, { rowSpacing: 2 })[1][2], [0.1, 2.2]);
  assert.deepEqual(shapes.reshape(rows, { curvature: 0 })[1], [[-2, 1], [-1, 1], [0, 1], [1, 1], [2, 1]]);
});

test("a row along an arc or a curve has seats at even distances", () => {
  const arc = shapes.alongArc({ at: [5, 5], radius: 10, spacing: 0.7 });
  evenly(arc, 0.7);
  assert.ok(arc[0][0] < arc.at(-1)[0], "from left to right");
  for (const p of arc) assert.ok(Math.abs(distance(p, [5, 5]) - 10) < 0.001);
  const spread = shapes.alongArc({ radius: 10, from: 180, to: 0, seats: 5 });
  near(spread[0], [-10, 0]);
  near(spread[2], [0, 10]);
  near(spread[4], [10, 0]);
  nearRows([shapes.alongArc({ radius: 10, from: 0, to: 180, seats: 5 })], [spread]);
  const curve = shapes.alongCurve([[0, 0], [10, 4], [20, 0], [30, 8]], { spacing: 0.5 });
  evenly(curve, 0.5, 0.02);
  assert.ok(curve.length > 60);
  const ends = shapes.alongCurve([[0, 0], [10, 4], [20, 0]], { seats: 9 });
  near(ends[0], [0, 0]);
  near(ends.at(-1), [20, 0]);
  assert.ok(ends.some((p) => distance(p, [10, 4]) < 0.01), "through the points");
  assert.deepEqual(shapes.alongCurve([[1, 1]]), [[1, 1]]);
  assert.deepEqual(shapes.alongCurve([[0, 0], [3, 0]], { spacing: 1 }), [[0, 0], [1, 0], [2, 0], [3, 0]]);
});

test("seats are around tables, clockwise from the top", () => {
  assert.deepEqual(shapes.roundTable({ seats: 4, radius: 2, at: [1, 1] }), [[1, -1], [3, 1], [1, 3], [-1, 1]]);
  assert.deepEqual(shapes.roundTable({ seats: 3, radius: 2, open: 180 }), [[2, 0], [0, 2], [-2, 0]]);
  const open = shapes.roundTable({ seats: 5, open: 120, radius: 2 });
  assert.ok(open.every(([, y]) => y > -1.01), "none towards the stage");
  assert.deepEqual(shapes.rectangularTable({ sides: [2, 1, 2, 1] }), [[-0.5, -1], [0.5, -1], [1.5, 0], [0.5, 1], [-0.5, 1], [-1.5, 0]]);
  assert.deepEqual(shapes.rectangularTable({ sides: [1, 2, 0, 0] }), [[0, -1.5], [1, -0.5], [1, 0.5]]);
  evenly(shapes.roundTable({ seats: 12, spacing: 0.6 }), 0.6, 0.02);
});

test("blocks of a fan have aisles between them, and rows around the middle", () => {
  const blocks = shapes.fan({ at: [3, 4], radius: 20, from: 150, to: 30, blocks: 4, rows: 5, spacing: 0.5, rowSpacing: 0.9, aisle: 1.2 });
  assert.equal(blocks.length, 4);
  for (const block of blocks) {
    assert.equal(block.length, 5);
    block.forEach((row, k) => {
      for (const p of row) assert.ok(Math.abs(distance(p, [3, 4]) - (20 + 0.9 * k)) < 0.002);
      evenly(row, 0.5);
      assert.ok(row[0][0] < row.at(-1)[0], "from left to right");
    });
    assert.ok(block[4].length > block[0].length);
  }
  for (let k = 0; k < 5; k++) {
    for (let i = 1; i < 4; i++) {
      const between = distance(blocks[i - 1][k].at(-1), blocks[i][k][0]);
      assert.ok(between > 1.15 && between < 1.2 + 0.52, String(between));
    }
  }
});

test("an aisle within a block takes room from its seats", () => {
  const at = { radius: 20, from: 120, to: 60, blocks: 2, rows: 2, aisle: 1 };
  for (const [aisles, gap] of [[[], 0], [[0.5], 4], [[2, 4], 2]]) {
    const [a, b] = shapes.fan({ ...at, aisles, gap });
    const between = distance(a[0].at(-1), b[0][0]);
    assert.ok(between > 0.98 && between < 2.1, `${between} with ${aisles}`);
    assert.equal(a[0].filter((p) => p === null).length, aisles.length);
    const wide = Math.max(...a[0].slice(1).map((p, i) => (p && a[0][i] ? 0 : distance(a[0][i] ?? a[0][i - 1], p ?? a[0][i + 2]))));
    if (gap > 0) assert.ok(Math.abs(wide - gap - 1) < 0.1, String(wide));
  }
});

test("a ring of blocks goes around an ellipse without a seat on another", () => {
  const blocks = shapes.ring({ radii: [40, 25], blocks: 16, rows: 8, spacing: 0.6, rowSpacing: 0.8 });
  const seats = blocks.flat(2);
  const isIn = ([x, y]) => (x / 40) ** 2 + (y / 25) ** 2;
  for (const p of seats) assert.ok(isIn(p) > 0.999, "outside of the pitch");
  const sorted = seats.toSorted((a, b) => a[0] - b[0]);
  sorted.forEach((p, i) => {
    for (let j = i + 1; j < sorted.length && sorted[j][0] - p[0] < 0.5; j++) assert.ok(distance(p, sorted[j]) > 0.5, `${p} ${sorted[j]}`);
  });
  for (const block of blocks) {
    const [first, last] = [block[0][0], block[0].at(-1)];
    const middle = [(first[0] + last[0]) / 2, (first[1] + last[1]) / 2];
    const right = [middle[1], -middle[0]]; // of a person who looks at 0, 0
    assert.ok((last[0] - first[0]) * right[0] + (last[1] - first[1]) * right[1] > 0, "from left to right");
  }
});

test("blocks go around a rectangle with round corners, on its outer side, with the widths that are given", () => {
  const line = shapes.roundedRectangleLine({ width: 60, height: 40, radius: 10 });
  const blocks = shapes.blocksAlong(line, { blocks: 4, widths: [1, 3, 1, 3], rows: 2, aisles: [0.5], gap: 1 });
  for (const [x, y] of blocks.flat(2).filter(Boolean)) assert.ok(Math.abs(x) > 29.9 || Math.abs(y) > 19.9 || Math.hypot(Math.abs(x) - 20, Math.abs(y) - 10) > 9.9);
  assert.ok(blocks[1][0].length > 2.5 * blocks[0][0].length);
  assert.ok(blocks.flat().every((row) => row.filter((p) => p === null).length === 1));
});

test("polygons have their corners, and an outline is around its points", () => {
  assert.deepEqual(shapes.rectangle({ width: 4, height: 2, at: [1, 1] }), [[-1, 0], [3, 0], [3, 2], [-1, 2]]);
  assert.deepEqual(shapes.polygon({ radii: [1, 1], sides: 4 }), [[0, -1], [1, 0], [0, 1], [-1, 0]]);
  const points = shapes.ring({ radii: [40, 25], blocks: 1, rows: 1 }).flat(2);
  const outline = shapes.around(points, 1);
  assert.ok(outline.length <= 200 && outline.length > 50);
  assert.deepEqual(shapes.around([[0, 0]], 1), [[-1, -1], [1, -1], [1, 1], [-1, 1]]);
});

test("numbers that are too large make no more than a plan can have", () => {
  assert.equal(shapes.block({ rows: 1, seats: 1e9 })[0].length, 500);
  assert.equal(shapes.block({ rows: 1e9, seats: 1 }).length, 500);
  assert.equal(shapes.alongCurve([[0, 0], [1e6, 0]]).length, 500);
  assert.equal(shapes.roundTable({ seats: 1e9 }).length, 500);
});

test("quarter turns are exact", () => {
  assert.deepEqual([90, 180, 270, -90, 450].map((d) => turn([3, 1], d)), [[-1, 3], [-3, -1], [1, -3], [1, -3], [-1, 3]]);
});

test("seats on one place keep it, whatever shape they are to take", () => {
  const rows = [[[3, 4], [3, 4], null, [3, 4]]];
  for (const options of [{ curvature: Infinity }, { spacing: 2 }, { rotation: 90 }]) {
    for (const point of shapes.reshape(rows, options).flat()) assert.ok(point === null || point.every(Number.isFinite), JSON.stringify(options));
  }
});
