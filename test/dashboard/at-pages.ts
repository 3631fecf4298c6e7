/**
 * What the tests of the pages do as a person would: be signed in at a browser of one's own, go by the menu, read what was copied, paste a command into a
 * shell. Judges nothing.
 */
import { execFile } from 'node:child_process';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { Keys, Service } from '../kit/service.ts';
import { openPage, signIn, waitUntilLoaded, type PageOptions } from './browser.ts';
import type { Visitor } from './visitor.ts';

const run = promisify(execFile);
const WAIT_MS = 15_000;
const LOOK_MS = 20;

/** Until it holds. In place of page.waitForFunction, which looks a second time by eval(), and the policy of the pages forbids that. */
export async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  for (const endsAt = Date.now() + WAIT_MS; !(await holds()); await setTimeout(LOOK_MS))
    if (Date.now() > endsAt) throw new Error(`Waited in vain: ${what}.`);
}

/** A browser at the visitor's address, where nobody is signed in. */
export async function openAt(
  test: TestContext,
  service: Service,
  visitor: Visitor,
  options?: PageOptions,
): Promise<Page> {
  const page = await openPage(test, service, options);
  await page.setExtraHTTPHeaders({ 'x-forwarded-for': visitor.client });
  return page;
}

/** The same with the visitor signed in; shows the orders. */
export async function openAs(
  test: TestContext,
  service: Service,
  visitor: Visitor,
  options?: PageOptions,
): Promise<Page> {
  const page = await openAt(test, service, visitor, options);
  await signIn(page, visitor);
  return page;
}

/** By the link of the menu with this name. */
export async function goByMenu(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  await waitUntilLoaded(page);
}

const readClipboard = (page: Page): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');

/** Presses a copy button, by the mouse if not told otherwise, and gives what was copied. */
export async function copy(page: Page, button: Locator, press = (): Promise<void> => button.click()): Promise<string> {
  await page.evaluate(`navigator.clipboard.writeText('')`);
  await press();
  await until(async () => (await readClipboard(page)) !== '', 'nothing was copied');
  return readClipboard(page);
}

/** Runs a command that was copied, as it is, in a shell that has the keys in its environment; gives what it printed. */
export async function paste(command: string, { apiID, apiSecret }: Pick<Keys, 'apiID' | 'apiSecret'>): Promise<string> {
  const env = { ...process.env, API_ID: apiID, API_SECRET: apiSecret };
  const { stdout } = await run('sh', ['-c', command.replace(/^curl /, 'curl --silent --show-error ')], { env });
  return stdout;
}
