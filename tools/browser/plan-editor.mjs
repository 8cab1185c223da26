// What the tests of the plan editor share: places of the plan on the screen, and gestures.

import { open, until } from "./harness.mjs";

export const editorOf = (page) => page.locator("holdfast-plan-editor");

/** openEditor opens a page of the console, follows a link, and waits for the editor. */
export async function openEditor(browser, url, link, options) {
  const page = await open(browser, url, options);
  if (link !== undefined) await page.getByRole("link", { name: link }).click();
  page.setDefaultTimeout(8000);
  await until("the editor is there", () => editorOf(page).evaluate((e) => e.board?.camera.width > 1 && e.board.painter.colors !== undefined));
  return page;
}

export const planOf = (page) => editorOf(page).evaluate((e) => e.plan);

/** at is where a point of the plan is on the screen. */
export function at(page, x, y) {
  return editorOf(page).evaluate((e, [px, py]) => {
    const { left, top } = e.board.canvas.getBoundingClientRect();
    const { camera } = e.board;
    return [left + camera.x(px), top + camera.y(py)];
  }, [x, y]);
}

/** drag drags from one point of the plan to another. */
export async function drag(page, from, to, steps = 4) {
  await page.mouse.move(...await at(page, ...from));
  await page.mouse.down();
  await page.mouse.move(...await at(page, ...to), { steps });
  await page.mouse.up();
}

/** choose takes a tool. */
export const choose = (page, name) => editorOf(page).getByRole("toolbar", { name: "Tools" }).getByRole("button", { name, exact: true }).click();
