// The example halls in the editor, light and dark.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, test } from "node:test";
import { Holdfast, browse, expectNoErrors, screenshot } from "./harness.mjs";
import { editorOf, openEditor } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

for (const name of ["theatre", "arena", "cinema"]) {
  test(`the ${name} opens, without findings, and nothing of it has changed`, async () => {
    const plan = JSON.parse(readFileSync(new URL(`../../seats/planfile/examples/${name}.json`, import.meta.url), "utf8"));
    const { id, totalSeats } = await holdfast.ask("POST", "/api/seating-plans", plan);
    for (const colorScheme of ["light", "dark"]) {
      const page = await openEditor(browser, `${holdfast.url}/console#/edit-plan/${id}`, undefined, { colorScheme, viewport: { width: 1280, height: 900 } });
      const editor = editorOf(page);
      assert.deepEqual(await editor.evaluate((e) => [e.totalSeats, e.isChanged]), [totalSeats, false]);
      await editor.getByRole("tab", { name: "Check" }).click();
      await editor.getByText("Nothing to correct.").first().waitFor();
      await editor.getByRole("tab", { name: "Plan" }).click();
      await editor.scrollIntoViewIfNeeded();
      await editor.evaluate((e) => new Promise((drawn) => { e.board.draw(); requestAnimationFrame(() => requestAnimationFrame(drawn)); }));
      await page.waitForTimeout(500); // pictures of the hall follow within some frames
      await screenshot(page, `plan-editor-${name}-${colorScheme}`);
      const preview = page.locator(".venue .map");
      for (let times = 0; times < 2; times++) { // the second map takes the place of the first
        await page.getByRole("button", { name: "Look as customers do" }).click();
        await preview.getByRole("button", { name: plan.sections[0].name }).waitFor();
        assert.equal(await preview.count(), 1);
      }
      await page.getByRole("button", { name: "Close the preview" }).click();
      assert.equal(await preview.count(), 0);
      expectNoErrors(page);
    }
  });
}
