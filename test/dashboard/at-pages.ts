/**
 * What the tests of the pages do as a person would: be signed in at a browser of one's own, go by the menu, press and
 * fill in by name, read what was copied, paste a command into a shell. Judges nothing.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { Keys, Service } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { openPage, signIn, waitUntilLoaded } from './browser.ts';
import { PASSWORD, type Visitor } from './visitor.ts';

const run = promisify(execFile);

export const button = (within: Page | Locator, name: string): Locator =>
  within.getByRole('button', { name, exact: true });
export const field = (page: Page, label: string): Locator => page.getByLabel(label, { exact: true });
export const region = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
/** Waits for the page with this title. */
export const arrive = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
/** The figure below a label. */
export const figureOf = (page: Page, label: string): Locator =>
  page.getByText(label, { exact: true }).locator('xpath=following-sibling::p[1]');

/** The texts of a table's cells, a row each. */
export const shownCells = (table: Locator): Promise<string[][]> =>
  table
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => (cell.innerText as string).trim())));

/** A browser at the visitor's address, where nobody is signed in. */
export async function openAt(test: TestContext, service: Service, visitor: Visitor): Promise<Page> {
  const page = await openPage(test, service);
  await page.setExtraHTTPHeaders({ 'x-forwarded-for': visitor.client });
  return page;
}

/** The same with the visitor signed in; shows the orders. */
export async function openAs(test: TestContext, service: Service, visitor: Visitor): Promise<Page> {
  const page = await openAt(test, service, visitor);
  await signIn(page, visitor);
  return page;
}

/** By the link of the menu with this name. */
export async function goByMenu(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link', { name, exact: true }).click();
  await arrive(page, name);
  await waitUntilLoaded(page);
}

const readClipboard = (page: Page): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');

/** Presses a copy button, by the mouse if not told otherwise, and gives what was copied. */
export async function copy(page: Page, from: Locator, press = (): Promise<void> => from.click()): Promise<string> {
  await page.evaluate(`navigator.clipboard.writeText('')`);
  await press();
  await until(async () => (await readClipboard(page)) !== '');
  return readClipboard(page);
}

/** Everywhere a page can keep something: storage of every kind, cookies, history, the document and its fields. */
export const readAll = (page: Page): Promise<string> =>
  page.evaluate<string>(`(async () => JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, await indexedDB.databases(), await caches.keys(), document.cookie,
    history.state, location.href, window.name, document.documentElement.outerHTML, document.body.innerText,
    [...document.querySelectorAll('input, textarea')].map(({ value }) => value),
  ]))()`);

/** Runs a command that was copied, as it is, in a shell that has the keys in its environment; gives what it printed. */
export async function paste(command: string, { apiID, apiSecret }: Pick<Keys, 'apiID' | 'apiSecret'>): Promise<string> {
  const env = { ...process.env, API_ID: apiID, API_SECRET: apiSecret };
  const { stdout } = await run('sh', ['-c', command.replace(/^curl /, 'curl --silent --show-error ')], { env });
  return stdout;
}

/** Goes there by the menu, chooses when the old keys stop, and saves. */
export async function replaceKeys(page: Page, overlap = 'Revoke immediately'): Promise<void> {
  await goByMenu(page, 'API Settings');
  await button(page, 'Replace Keys').click();
  await field(page, overlap).check();
  await button(page, 'Save').click();
  await page.getByRole('heading', { name: 'New keys' }).waitFor();
}

/** At a one-time link: sets the password, which signs in. */
export async function setPassword(page: Page): Promise<void> {
  await field(page, 'Password').fill(PASSWORD);
  await field(page, 'Repeat password').fill(PASSWORD);
  await button(page, 'Set password and sign in').click();
  await arrive(page, 'API Settings');
}
