// Drafts of the plan editor, which the browser keeps, and files.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, afterEach, test } from "node:test";
import { Holdfast, browse, expectNoErrors, until } from "./harness.mjs";
import { at, choose, drag, editorOf, openEditor, planOf } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const url = `${holdfast.url}/console#/new-plan`;
const isReady = (page) => until("the editor is there", () => editorOf(page).evaluate((e) => e.board?.camera.width > 1));
const isStored = (page) => until("the draft is stored", () => editorOf(page).evaluate((e) => e.files.isStored));
const seats = async (page) => (await editorOf(page).evaluate((e) => e.totalSeats));

// documents are those that have a draft.
const documents = (page) => page.evaluate(() => new Promise((resolve) => {
  indexedDB.open("holdfast-plan-editor").onsuccess = ({ target: { result: db } }) => {
    db.transaction("drafts").objectStore("drafts").getAllKeys().onsuccess = ({ target }) => {
      db.close();
      resolve(target.result);
    };
  };
}));

async function drawBlock(page, from, to) {
  await choose(page, "Block of seats");
  await drag(page, from, to);
}

test("a reload in the middle of a drag loses the drag alone; a discarded draft is gone", async () => {
  const page = await openEditor(browser, url);
  await drawBlock(page, [-5, 0], [4, 4]);
  await choose(page, "Floor plan picture");
  const chosen = page.waitForEvent("filechooser");
  await editorOf(page).getByRole("button", { name: "Choose a picture" }).click();
  await (await chosen).setFiles({ name: "hall.png", mimeType: "image/png", buffer: await page.screenshot({ clip: { x: 0, y: 0, width: 100, height: 50 } }) });
  await until("the picture is there", () => editorOf(page).evaluate((e) => e.board.picture !== undefined));
  await isStored(page);
  const drawn = await planOf(page);
  await choose(page, "Select");
  await page.keyboard.press("Control+a");
  await page.mouse.move(...await at(page, 0, 0));
  await page.mouse.down();
  await page.mouse.move(...await at(page, 3, 3), { steps: 3 });
  await page.reload();
  await isReady(page);
  await until("the draft is back", async () => (await seats(page)) === 50);
  assert.deepEqual(await planOf(page), drawn);
  await until("the picture is back", () => editorOf(page).evaluate((e) => e.board.picture?.image.width === 100));
  await editorOf(page).getByRole("button", { name: "Discard it" }).click();
  await until("it is gone", async () => (await seats(page)) === 0);
  await page.reload();
  await isReady(page);
  await page.waitForLoadState("networkidle");
  assert.equal(await seats(page), 0);
  expectNoErrors(page);
});

test("leaving the page stores the last change, and what is drawn while a plan is stored stays a draft", async () => {
  const page = await openEditor(browser, url);
  await drawBlock(page, [-5, 0], [4, 4]);
  await page.evaluate(() => { location.hash = "#/plans"; });
  await page.getByRole("heading", { name: "Seating plans" }).waitFor();
  await page.evaluate(() => { location.hash = "#/new-plan"; });
  await isReady(page);
  await until("the draft is back", async () => (await seats(page)) === 50);
  const isChanged = await editorOf(page).evaluate(async (e) => {
    e.addEventListener("save", (event) => event.stopImmediatePropagation(), { capture: true });
    const name = (text) => e.drawing.do({ ...e.drawing.plan, name: text }, "name");
    name("Stored");
    e.save();
    name("Changed since");
    await e.saved();
    return e.isChanged;
  });
  assert.equal(isChanged, true);
  await isStored(page);
  await page.reload();
  await isReady(page);
  await until("the draft is back", async () => (await planOf(page)).name === "Changed since");
  expectNoErrors(page);
});

test("a draft that is open in another tab is taken over, and goes on there", async () => {
  const first = await openEditor(browser, url);
  await drawBlock(first, [-5, 0], [4, 4]);
  await isStored(first);
  const second = await first.context().newPage();
  await second.goto(url);
  await isReady(second);
  const notice = editorOf(second).getByRole("alert");
  await notice.getByText("open in another tab").waitFor();
  assert.equal(await seats(second), 0);
  await notice.getByRole("button", { name: "Continue here" }).click();
  await until("the draft is here", async () => (await seats(second)) === 50);
  await editorOf(first).getByRole("alert").getByText("goes on in another tab").waitFor();
  await drawBlock(second, [-5, 6], [4, 6]);
  await isStored(second);
  await second.reload();
  await isReady(second);
  await until("the draft is back", async () => (await seats(second)) === 60);
  await drawBlock(first, [-5, 6], [4, 8]); // is stored no more
  assert.equal(await editorOf(first).evaluate((e) => e.isChanged && !e.files.isStored), true); // so the browser asks before it is closed
  await first.close();
  await second.reload();
  await isReady(second);
  await until("the draft is as it was", async () => (await seats(second)) === 60);
});

test("a copy of a draft that is open in another tab does not change the draft", async () => {
  const first = await openEditor(browser, url);
  await drawBlock(first, [-5, 0], [4, 4]);
  await isStored(first);
  const second = await first.context().newPage();
  await second.goto(url);
  await isReady(second);
  await editorOf(second).getByRole("button", { name: "Open a copy" }).click();
  await until("the copy is here", async () => (await seats(second)) === 50);
  await second.keyboard.press("Control+a");
  await editorOf(second).getByRole("button", { name: "Delete" }).click();
  assert.equal(await seats(second), 0);
  await first.reload();
  await isReady(first);
  await until("the draft is as it was", async () => (await seats(first)) === 50);
  assert.equal(await editorOf(second).evaluate((e) => e.isChanged && !e.files.isStored), true); // so the browser asks before it is closed
  await second.evaluate(() => { location.hash = "#/plans"; }); // what is left to store is stored
  await second.getByRole("heading", { name: "Seating plans" }).waitFor();
  assert.deepEqual(await documents(second), ["new"]); // no page would ask for a draft of the copy
});

const leases = (page) => page.evaluate(async () => (await navigator.locks.query()).held.map((lock) => lock.name));

test("other words, and a move in the page, leave the drawing, its steps and its draft", async () => {
  const page = await openEditor(browser, url);
  const editor = editorOf(page);
  const isMine = () => until("the draft is stored from here", async () => (await leases(page)).length === 1 && editor.evaluate((e) => e.files.isStored));
  await drawBlock(page, [-5, 0], [4, 4]);
  await isMine();
  const plan = await planOf(page);
  const changes = {
    words: (e) => { e.words = { undo: "Zurück", stored: "Gespeichert" }; },
    moved: (e) => e.parentNode.append(e),
    "back after a moment": async (e) => {
      const parent = e.parentNode;
      e.remove();
      await undefined;
      parent.append(e);
    },
    "back later, and kept again": async (e) => {
      const parent = e.parentNode;
      e.remove();
      await navigator.locks.request("holdfast-plan-editor new", () => {}); // it is free
      parent.append(e);
      await e.keep("new");
    },
    "words while it is away": (e) => {
      const parent = e.parentNode;
      e.remove();
      e.words = { stored: "Opgeslagen" };
      parent.append(e);
    },
  };
  for (const [name, change] of Object.entries(changes)) {
    await editor.evaluate((e) => e.drawing.do({ ...e.drawing.plan, name: "Changed" }, "changed")); // is not stored yet
    await editor.evaluate(change);
    await isMine();
    assert.equal(await editor.getByRole("alert").count(), 0, name);
    await editor.evaluate((e) => e.undo());
    assert.deepEqual(await planOf(page), plan, name);
    assert.equal(await editor.evaluate((e) => e.drawing.history.undoName), "block of seats", name);
    await isMine();
  }
  await editor.getByText("Opgeslagen").waitFor();
  await drawBlock(page, [-5, 6], [4, 6]);
  assert.equal(await seats(page), 60);
  await isMine();

  await page.evaluate(() => { globalThis.away = document.querySelector("holdfast-plan-editor"); away.remove(); });
  const isFree = () => until("the lease is free", async () => (await leases(page)).length === 0);
  await isFree();
  const other = await page.context().newPage();
  await other.goto(url);
  await isReady(other);
  await until("the draft is there", async () => (await seats(other)) === 60);
  await editorOf(other).evaluate((e) => e.drawing.do({ ...e.drawing.plan, name: "Of the other tab" }, "name"));
  await isStored(other);
  await other.close();
  await isFree();
  await page.evaluate(() => document.querySelector(".plan-editor").append(away)); // gets what the other tab has drawn, with a way back
  await until("the draft is that of the other tab", async () => (await planOf(page)).name === "Of the other tab");
  await editor.getByRole("button", { name: "Back to the drawing before" }).click();
  assert.equal((await planOf(page)).name, plan.name);
  expectNoErrors(page);
});

test("each document gets its own draft again, whatever was drawn in between", async () => {
  const page = await openEditor(browser, url);
  const editor = editorOf(page);
  const begin = (document) => editor.evaluate(async (e, name) => {
    e.open();
    await e.keep(name);
  }, document);
  const nameIt = (name) => editor.evaluate((e, text) => e.drawing.do({ ...e.drawing.plan, name: text }, "name"), name);
  const isCalled = async (name) => assert.equal(await editor.evaluate((e) => e.drawing.plan.name), name);
  await begin("a");
  await nameIt("Of a");
  await isStored(page);
  await begin("b");
  await isCalled("");
  await begin("a");
  await isCalled("Of a");
  await editor.evaluate(async (e) => { // another plan is opened while it is away
    const parent = e.parentNode;
    e.remove();
    e.open();
    parent.append(e);
    await e.keep("a");
  });
  await isCalled("Of a");
  await editor.evaluate(async (e) => { // another document while the first one is still read
    e.open();
    await e.keep("b");
    e.open();
    const first = e.keep("a");
    e.open();
    await Promise.all([first, e.keep("b")]);
  });
  await isCalled("");
  assert.deepEqual(await leases(page), ["holdfast-plan-editor b"]);
  await nameIt("Of b");
  await isStored(page);
  await begin("a");
  await isCalled("Of a");
  await begin("a");
  await isCalled("Of a");
  await nameIt("Later"); // is not stored yet
  await begin("b");
  await isCalled("Of b");
  await begin("a");
  await isCalled("Later");
  assert.deepEqual(await documents(page), ["a", "b"]);
  expectNoErrors(page);
});

test("a plan is saved as a file and opened from it; other formats are read by the server", async () => {
  const page = await openEditor(browser, url);
  const editor = editorOf(page);
  await drawBlock(page, [-5, 0], [4, 4]);
  const plan = await planOf(page);
  const download = page.waitForEvent("download");
  await editor.getByRole("button", { name: "File" }).click();
  await editor.getByRole("button", { name: "Save as a file" }).click();
  const file = await download;
  const text = await readFile(await file.path());
  assert.deepEqual(JSON.parse(text), plan);

  const openFile = async (name, buffer) => {
    const chosen = page.waitForEvent("filechooser");
    await editor.getByRole("button", { name: "File" }).click();
    await editor.getByRole("button", { name: "Open a file" }).click();
    await (await chosen).setFiles({ name, mimeType: "application/octet-stream", buffer });
  };
  await openFile("Small hall.csv", Buffer.from("section,row,seat,category\nStalls,A,1,Best\nStalls,A,2,Best\nStalls,B,1,Best\n"));
  await editor.getByText("Opened Small hall.csv").waitFor();
  assert.equal(await seats(page), 3);
  assert.equal((await planOf(page)).name, "Small hall");
  await editor.getByRole("button", { name: "Back to the drawing before" }).click();
  assert.deepEqual(await planOf(page), plan);
  assert.equal(await editor.evaluate((e) => e.drawing.history.undoName), "block of seats"); // its steps are there, too
  await openFile("plan.json", text);
  await editor.getByText("Opened plan.json").waitFor();
  assert.deepEqual(await planOf(page), plan);
  await openFile("bad.csv", Buffer.from("nothing"));
  await editor.getByText("can't be opened").waitFor();
  assert.deepEqual(await planOf(page), plan);
  for (const [says, change] of [
    ["body.sections[0].rows[0].seats: The number must be from 1 to 500, not 1000000.", (p) => { p.sections[0].rows[0].seats = 1_000_000; }],
    ["body.sections[0].rows[0].seats[1].x: A coordinate must be from -100000 to 100000.", (p) => { p.sections[0].rows[0].seats[1].x = 1e9; }],
    ["body.decorations[0].points: expected array", (p) => { p.decorations = [{ kind: "stage", points: 5 }]; }],
    ["body.sections[0]: expected object", (p) => { p.sections = [null]; }],
  ]) {
    const wrong = { ...structuredClone(plan), name: "Wrong" };
    change(wrong);
    await openFile("wrong.json", Buffer.from(JSON.stringify(wrong)));
    await editor.getByText(says).waitFor();
    assert.deepEqual(await planOf(page), plan);
  }
  expectNoErrors(page);
});

test("a save whose answer is lost, repeated after a reload, makes one plan", async () => {
  const page = await openEditor(browser, url);
  await drawBlock(page, [-5, 0], [4, 4]);
  await editorOf(page).getByRole("tab", { name: "Plan" }).click();
  await editorOf(page).getByLabel("Name of the plan").fill("Saved twice");
  await page.keyboard.press("Tab");
  const plans = async () => (await holdfast.ask("GET", "/api/seating-plans?pageSize=100")).items.filter((plan) => plan.name === "Saved twice").length;
  let lost = 0;
  await page.route("**/api/seating-plans", async (route) => {
    await route.fetch();
    lost++;
    await route.abort();
  });
  const save = async () => {
    await editorOf(page).getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).click();
  };
  await save();
  await until("the plan is stored, and its answer lost", async () => lost > 0 && await plans() === 1);
  await isStored(page);
  await page.unroute("**/api/seating-plans");
  await page.reload();
  await until("the draft is back", async () => (await seats(page)) === 50);
  await save();
  await page.getByRole("heading", { name: "Saved twice" }).waitFor();
  assert.equal(await plans(), 1);
});

test("a file that is opened on the page of a stored plan keeps the IDs of its seats", async () => {
  const seatIDs = ["A-1", "A-2", "A-3"];
  const plan = { name: "Kept", categories: [{ key: "c", name: "C" }], sections: [{ key: "S", name: "S", category: "c", rows: [
    { key: "A", seats: seatIDs.map((id, n) => ({ id, label: String(n + 1), x: n, y: 0 })) }] }] };
  const { id } = await holdfast.ask("POST", "/api/seating-plans", plan);
  const page = await openEditor(browser, `${holdfast.url}/console#/edit-plan/${id}`);
  await editorOf(page).evaluate((e, text) => e.files.open(new File([text], "kept.json")), JSON.stringify(plan));
  await page.keyboard.press("Control+a");
  await editorOf(page).getByRole("tab", { name: "Draw" }).click();
  assert.equal(await editorOf(page).locator(".ids").innerText(), "IDs A-1 to A-3");
  await editorOf(page).getByLabel("First seat").fill("11");
  await editorOf(page).getByRole("button", { name: "Number them" }).click();
  const { sections: [{ rows: [row] }] } = await planOf(page);
  assert.deepEqual(row.seats.map((seat) => [seat.id, seat.label]), [["A-1", "11"], ["A-2", "12"], ["A-3", "13"]]);
  expectNoErrors(page);
});
