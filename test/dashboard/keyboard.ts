/** Uses the keyboard like a person without a mouse: presses Tab until an element has the focus. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { until } from '../kit/wait.ts';

const TABS_MAX = 60;

/** Presses Tab until the target has the focus. Fails if 60 presses do not reach it. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let tabs = 0; tabs < TABS_MAX; tabs++) {
    await page.keyboard.press('Tab');
    if ((await target.count()) === 1 && (await hasFocus(target))) return;
  }
  assert.fail(`${String(target)} is not reached by Tab`);
}
const hasFocus = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => element === element.ownerDocument.activeElement);
export async function waitForFocus(target: Locator): Promise<void> {
  await target.waitFor();
  await until(() => hasFocus(target));
}
