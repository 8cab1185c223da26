// The languages of the map: their tables, how one is chosen and loaded, and pages that are read from the right to the left.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { rowName } from "../../picker/src/rows.js";
import { accessible, expectNoErrors, fits, gate, open, screenshot, until } from "./harness.mjs";
import { browser, click, file, held, holdfast, holds, positionOf, says, sell, show, studio } from "./picker.mjs";

const folder = new URL("../../picker/src/words/", import.meta.url);
const languages = readdirSync(folder).map((name) => name.slice(0, -3));
const { version } = JSON.parse(file("picker/package.json"));
const tables = Object.fromEntries(await Promise.all(languages.map(async (l) => [l, (await import(new URL(`${l}.js`, folder))).words])));

// What the functions of a table are called with.
const seat = { section: "Parkett", row: "A", label: "7", category: "First", price: "45 €" };
const examples = {
  floorName: ["1"], seats: [2], free: [2], places: [2], seat: [seat], section: [{ name: "Parkett", category: "First", free: "2 free", price: "45 €" }], row: ["A"],
  remove: ["X"], another: ["X", 2], total: ["45 €"], area: ["Pit", 2, "45 €"], timeLeft: ["4:07"], found: [[{ section: "Parkett", row: "A", labels: ["7", "8"] }]],
  waits: [{ position: 3, seats: 2, kind: "First" }], offered: [2], offerEnds: ["4:07"], quantity: ["Pit"], gone: ["X"], most: [2], orphan: ["X"], unheld: [2],
  notAdjacent: [2], tooFew: [2], opensOn: ["1.1."], opensIn: ["4:07"], shapes: [{ accessible: true, companion: true, restricted: true }], filtered: ["First"],
};
const textOf = (table, name) => (typeof table[name] === "function" ? table[name](...examples[name]) : table[name]);

test("each language has exactly the English words, functions where it has functions, and every text in it is its own", () => {
  assert.deepEqual(languages.toSorted(), ["de", "en", "es", "fr", "it", "nl", "pl", "pt"]);
  const names = Object.keys(tables.en);
  assert.deepEqual(names.filter((n) => typeof tables.en[n] === "function").toSorted(), Object.keys(examples).toSorted());
  for (const [language, table] of Object.entries(tables)) {
    assert.deepEqual(Object.keys(table).toSorted(), names.toSorted(), language);
    for (const name of names) {
      assert.equal(typeof table[name], typeof tables.en[name], `${language}: ${name}`);
      const text = textOf(table, name);
      assert.ok(text.length > 0 && !/undefined|NaN|\[object|(^|, ),/.test(text), `${language}: ${name}: ${text}`);
      for (const value of examples[name]?.flatMap((v) => (typeof v === "object" ? [] : [String(v)])) ?? []) assert.ok(text.includes(value), `${language}: ${name}: ${text}`);
    }
    if (language === "en") continue;
    const same = names.filter((name) => textOf(table, name) === textOf(tables.en, name));
    assert.deepEqual(same.filter((n) => !["another", "area", "places", "section", "total"].includes(n)), [], language);
  }
});

test("numbers have the plural forms and the separators of their language", () => {
  const forms = (language, name, ...numbers) => numbers.map((n) => tables[language][name](n).replaceAll(/\s/g, " "));
  assert.deepEqual(forms("pl", "seats", 1, 2, 5, 12, 22, 25, 1001), ["1 miejsce", "2 miejsca", "5 miejsc", "12 miejsc", "22 miejsca", "25 miejsc", "1001 miejsc"]);
  assert.deepEqual(forms("fr", "free", 0, 1, 2, 12_345), ["0 libre", "1 libre", "2 libres", "12 345 libres"]);
  assert.deepEqual(forms("de", "seats", 1, 2, 12_345), ["1 Platz", "2 Plätze", "12.345 Plätze"]);
  assert.deepEqual(forms("en", "seats", 1, 2, 12_345), ["1 seat", "2 seats", "12,345 seats"]);
  assert.deepEqual(["Row A", "Reihe A", "Rząd 4", "Fila B", "Rijtje", "12"].map(rowName), ["A", "A", "4", "B", "Rijtje", "12"]);
});

// speaking shows an event on a page with languages: of the page, of the element, of the browser.
async function speaking({ page: ofPage = "en", element, browser: ofBrowser }, options = {}) {
  const event = await sell(studio());
  return show(event, { ...(element !== undefined && { lang: element }), prices: '{"seats":1234.5}', currency: "EUR" }, {
    ...(ofBrowser !== undefined && { locale: ofBrowser }), ...options,
    before: async (page) => {
      await options.route?.(page);
      await page.evaluate((tag) => (tag === "" ? document.documentElement.removeAttribute("lang") : document.documentElement.setAttribute("lang", tag)), ofPage);
    },
  });
}

for (const [what, from, title, price] of [
  ["the element's lang", { page: "fr", element: "de-AT", browser: "es-ES" }, "Ihre Plätze", /€\s1[.\s]234,50/],
  ["the page's", { page: "fr-CA", browser: "de-DE" }, "Vos places", /1\s234,50\s€/],
  ["the browser's", { page: "", browser: "pl-PL" }, "Państwa miejsca", /1[.\s]?234,50\s€/],
  ["English, where there is no table", { page: "sv" }, "Your seats", /1\s234,50\s€/],
]) {
  test(`the language is ${what}`, async () => {
    const { page, map } = await speaking(from);
    await map.getByRole("heading", { name: title }).waitFor();
    assert.match((await map.locator(".legend .price").first().textContent()), price);
    assert.equal(await map.locator(".root").getAttribute("lang"), title === "Your seats" ? "en" : from.element ?? (from.page || from.browser));
    if (from.page !== "") await accessible(page);
    expectNoErrors(page);
  });
}

test("all languages are loaded from the server, by the module's own version, and a seat is held in each", async () => {
  const { page, map } = await speaking({});
  const asked = [];
  page.on("request", (request) => { if (request.url().includes("/assets/holdfast-seats/")) asked.push(request.url().split("/").at(-1)); });
  for (const [language, words] of Object.entries(tables)) {
    await map.evaluate((e, tag) => e.setAttribute("lang", tag), language);
    await map.getByRole("heading", { name: words.yours }).waitFor();
    await map.getByRole("button", { name: words.bestButton }).click();
    await until("two seats are held", async () => (await held(map)).length === 2);
    await says(map, new RegExp(words.found([]).slice(0, 12)));
    await map.evaluate((e) => e.release());
    await holds(map);
    await screenshot(page, `words-${language}-phone`); // not one of the README's
  }
  assert.deepEqual(asked.toSorted(), languages.filter((l) => l !== "en").map((l) => `${l}-${version}.js`).toSorted());
  expectNoErrors(page);
});

test("the module by its version loads a language from next to it", async () => {
  const [event, user] = [await sell(studio()), await holdfast.user()];
  const page = await open(browser, `${holdfast.url}/demo/examples?event=`);
  await page.route("**/assets/holdfast-seats.js", (r) => r.fulfill({ contentType: "text/javascript", body: `export * from "/assets/holdfast-seats-${version}.js";` }));
  await page.reload();
  const map = page.locator("#first");
  await map.evaluate((e, of) => { for (const [name, value] of Object.entries(of)) e.setAttribute(name, value); }, { lang: "es", user: user.id, event: event.id });
  await map.getByRole("heading", { name: "Sus asientos" }).waitFor();
  assert.equal(await page.evaluate((v) => performance.getEntriesByType("resource").some((r) => r.name.endsWith(`/assets/holdfast-seats-${v}.js`)), version), true);
  expectNoErrors(page);
});

test("while a language is loaded nothing is shown in English", async () => {
  const [mayLoad, load] = gate();
  const route = async (page) => {
    await page.route("**/holdfast-seats/de-*.js", async (r) => {
      await mayLoad;
      await r.continue();
    });
  };
  const { page, map } = await speaking({ element: "de" }, { route, isReady: false });
  await page.waitForTimeout(300);
  assert.equal(await map.evaluate((e) => e.shadowRoot.textContent.trim()), "");
  assert.equal(await map.locator(".root").getAttribute("aria-busy"), "true");
  load();
  await map.getByRole("heading", { name: "Ihre Plätze" }).waitFor();
  expectNoErrors(page);
});

test("English is shown if a language can't be loaded, or is too slow", async () => {
  for (const answer of [(r) => r.abort(), (r) => r.fulfill({ status: 404, body: "" }), () => {}]) {
    const { map } = await speaking({ element: "de" }, { route: (page) => page.route("**/holdfast-seats/de-*.js", answer) });
    await map.getByRole("heading", { name: "Your seats" }).waitFor();
  }
});

test("a shop's words replace those of the language, and the dates of a sale follow it", async () => {
  const event = await sell(studio(), { saleStartsAt: "2099-03-04T10:00:00Z" });
  const { page, map } = await show(event, { lang: "de" }, { before: (p) => p.locator("#first").evaluate((e) => { e.words = { yours: "Deine Plätze" }; }) });
  await map.getByRole("heading", { name: "Deine Plätze" }).waitFor();
  assert.match(await map.locator(".sale").textContent(), /Der Verkauf beginnt am 4\. März 2099/);
  assert.equal(await map.evaluate((e) => e.words.zoomIn), "Vergrößern");
  await map.evaluate((e) => e.setAttribute("lang", "it"));
  await map.getByRole("heading", { name: "Deine Plätze" }).waitFor();
  await until("the rest is Italian", () => map.getByRole("button", { name: "Ingrandisci" }).isVisible());
  await map.evaluate((e) => {
    e.lang = "en";
    e.words = undefined; // as React sets it when a prop goes
  });
  await map.getByRole("heading", { name: "Your seats" }).waitFor();
  expectNoErrors(page);
});

// Words of a shop in Arabic, as far as the test looks at them.
const arabic = {
  map: "خريطة المقاعد", list: "قائمة المقاعد", backToMap: "خريطة المقاعد", zoomIn: "تكبير", zoomOut: "تصغير", whole: "القاعة كلها", stage: "المسرح",
  yours: "مقاعدكم", none: "لم يتم اختيار أي مقعد بعد.", best: "أفضل المقاعد المتاحة", bestNumber: "عدد المقاعد", bestCategory: "الفئة", anyCategory: "كل الفئات",
  bestButton: "ابحث عن مقاعد", legend: "مفتاح الخريطة", legendHint: "اختاروا فئات لعرض مقاعدها فقط.", available: "متاح", taken: "غير متاح", held: "محجوز لكم",
  restricted: "رؤية محدودة", accessible: "مكان لكرسي متحرك", soldOut: "نفدت",
};
const setArabic = (e, words) => {
  const numbers = new Intl.NumberFormat("ar-EG");
  Object.assign(words, {
    free: (n) => `${numbers.format(n)} متاح`, seats: (n) => `${numbers.format(n)} مقاعد`, remove: (seat) => `إزالة ${seat}`, row: (label) => `الصف ${label}`,
    seat: ({ section, row, label, category, price }) => [section, `الصف ${row}`, `المقعد ${label}`, category, price].filter(Boolean).join("، "),
    timeLeft: (time) => `محجوزة لمدة ${time}`, quantity: (section) => `عدد الأماكن في ${section}`,
    shapes: () => "نقطة صغيرة: غير متاح، مربع: مكان لكرسي متحرك",
    found: (rows) => `محجوز لكم: ${rows.map((r) => `${r.section}، الصف ${r.row}، ${r.labels.join("، ")}`).join("؛ ")}.`,
  });
  e.words = words;
};

for (const viewport of [{ width: 1280, height: 900 }, { width: 360, height: 740 }]) {
  test(`on a page from right to left, everything but the hall runs that way, ${viewport.width} pixels wide`, async () => {
    const plan = studio({ name: "مسرح" });
    [["A", "الصالة"], ["B", "المقصورة"], ["pit", "ساحة الوقوف (أ)"]].forEach(([, name], n) => { plan.sections[n].name = name; });
    ["مقاعد", "مقصورة", "وقوف"].forEach((name, n) => { plan.categories[n].name = name; });
    const { page, map } = await show(await sell(plan), { lang: "ar" }, {
      viewport,
      before: async (p) => {
        await p.evaluate(() => document.documentElement.setAttribute("dir", "rtl"));
        await p.locator("#first").evaluate(setArabic, arabic);
      },
    });
    assert.equal(await map.locator(".root").getAttribute("lang"), "ar");
    const left = async (what) => (await what.boundingBox()).x;
    const [list, zoom] = [map.getByRole("button", { name: arabic.list }), map.getByRole("button", { name: arabic.zoomIn })];
    assert.ok((await left(list)) > (await left(zoom)));
    if (viewport.width > 1000) assert.ok((await left(map.locator(".panel"))) < (await left(map.locator(".view"))));
    const entry = map.locator(".legend button").first();
    assert.ok((await left(entry.locator(".name"))) > (await left(entry.locator(".soft"))));

    // The hall is as it is, and the arrows of the map with it.
    const [first, last] = [await positionOf(map, "A-1-1"), await positionOf(map, "A-1-6")];
    assert.ok(first.x < last.x, "the hall is not mirrored");
    await positionOf(map, "A-1-2");
    await page.keyboard.press("ArrowRight");
    assert.match(await map.locator(".cursor").textContent(), /المقعد 3/);
    await click(map, "A-1-2");
    await holds(map, "A-1-2");
    const item = map.locator(".cart li").first();
    assert.ok((await left(item.locator("span"))) > (await left(item.getByRole("button"))));
    const { x, y } = await positionOf(map, "A-1-6");
    await page.mouse.move(x, y);
    const [tip, view] = [await map.locator(".tip").boundingBox(), await map.locator(".map").boundingBox()];
    assert.ok(tip.x >= view.x && tip.x + tip.width <= view.x + view.width, JSON.stringify([tip, view]));
    await screenshot(page, `rtl-${viewport.width}-phone`, { fullPage: true }); // not one of the README's

    // In the list, seats go from the right to the left, and so do the arrows.
    await list.click();
    await map.locator(".list summary").first().click();
    const seats = map.locator(".list .row").first().getByRole("button");
    await seats.first().focus();
    assert.ok((await left(seats.nth(0))) > (await left(seats.nth(1))));
    await page.keyboard.press("ArrowLeft");
    assert.match(await page.evaluate(() => document.activeElement.shadowRoot.activeElement.getAttribute("aria-label")), /المقعد 2/);
    await page.keyboard.press("ArrowRight");
    assert.match(await page.evaluate(() => document.activeElement.shadowRoot.activeElement.getAttribute("aria-label")), /المقعد 1/);
    await screenshot(page, `rtl-list-${viewport.width}-phone`);
    await accessible(page);
    await fits(page);
    expectNoErrors(page);
  });
}
