// Drawings are what the server accepts, and the server's plans come back equal. test/rules answers for the server.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { check } from "../src/check.js";
import { fromServer, toServer } from "../src/plan.js";
import { Random, drawing } from "./random.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

// rules is the answers for values, one for each.
function rules(command, values = []) {
  const input = values.map((value) => `${JSON.stringify(value)}\n`).join("");
  const { status, stdout, stderr } = spawnSync("go", ["run", "./editor/test/rules", ...command], { cwd: root, input, maxBuffer: 2 ** 30 });
  assert.equal(status, 0, String(stderr));
  return String(stdout).trimEnd().split("\n").map((line) => JSON.parse(line));
}

const count = 10_000;

test("the server names the problems of 10,000 drawings as check does, and accepts those without", () => {
  const r = new Random(4);
  const drawings = Array.from({ length: count }, () => drawing(r));
  const problems = drawings.map((plan) => check(plan));
  const answers = rules(["check"], drawings.map(toServer));
  assert.equal(answers.length, count);
  for (let i = 0; i < count; i++) assert.deepEqual(answers[i], problems[i], JSON.stringify(toServer(drawings[i])));
  assert.equal(problems.filter((p) => p.length > 0).length, 0, JSON.stringify(problems.find((p) => p.length > 0)));
});

test("10,000 plans of the server open and come back equal", () => {
  const plans = rules(["draw", String(count)]);
  assert.equal(plans.length, count);
  const answers = rules(["same"], plans.map((plan) => [plan, toServer(fromServer(plan))]));
  assert.equal(answers.length, count);
  for (let i = 0; i < count; i++) assert.equal(answers[i], "", JSON.stringify(plans[i]));
});

test("the server tells other plans apart", () => {
  const plan = rules(["draw", "100"]).find(({ sections }) => sections[0].rows?.length > 1);
  const opened = toServer(fromServer(plan));
  const [section] = opened.sections;
  const changed = [
    { ...opened, name: "Other" }, { ...opened, sections: [{ ...section, name: "Other" }, ...opened.sections.slice(1)] },
    { ...opened, sections: [{ ...section, rows: section.rows.toReversed() }, ...opened.sections.slice(1)] },
  ];
  for (const answer of rules(["same"], changed.map((other) => [plan, other]))) assert.notEqual(answer, "");
});
