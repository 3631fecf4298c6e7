/**
 * Does in the browser what a person does: signs in, uses the menu, finds buttons and fields by name, reads what was
 * copied, and pastes a command into a shell. Checks nothing.
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
/** Waits for the page with this heading. */
export const arrive = (page: Page, name: string): Promise<void> =>
  page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
/** Finds the figure below a label. */
export const figureOf = (page: Page, label: string): Locator =>
  page.getByText(label, { exact: true }).locator('xpath=following-sibling::p[1]');

/** Returns the texts of a table's cells, row by row, once the page has loaded what it shows. */
export async function shownCells(table: Locator): Promise<string[][]> {
  await waitUntilLoaded(table.page());
  return table
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => (cell.innerText as string).trim())));
}

/** Opens an empty page at the visitor's address. No one is signed in. */
export async function openAt(test: TestContext, service: Service, visitor: Visitor, locale?: string): Promise<Page> {
  const page = await openPage(test, service, locale);
  await page.setExtraHTTPHeaders({ 'x-forwarded-for': visitor.client });
  return page;
}

/** Opens the list of orders at the visitor's address, with the visitor signed in. */
export async function openAs(test: TestContext, service: Service, visitor: Visitor, locale?: string): Promise<Page> {
  const page = await openAt(test, service, visitor, locale);
  await signIn(page, visitor);
  return page;
}

/** Opens a page by the link of the menu with this name. */
export async function goByMenu(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link', { name, exact: true }).click();
  await arrive(page, name);
  await waitUntilLoaded(page);
}

const readClipboard = (page: Page): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');

/** Presses a copy button, with the mouse unless `press` is given, and returns what was copied. */
export async function copy(page: Page, from: Locator, press = (): Promise<void> => from.click()): Promise<string> {
  await page.evaluate(`navigator.clipboard.writeText('')`);
  await press();
  await until(async () => (await readClipboard(page)) !== '');
  return readClipboard(page);
}

/** Returns everything in which a page can keep a text: storage, cookies, history, the document and its fields. */
export const readAll = (page: Page): Promise<string> =>
  page.evaluate<string>(`(async () => JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, await indexedDB.databases(), await caches.keys(), document.cookie,
    history.state, location.href, window.name, document.documentElement.outerHTML, document.body.innerText,
    [...document.querySelectorAll('input, textarea')].map(({ value }) => value),
  ]))()`);

/** Runs a copied curl command in a shell that has the keys in its environment. Returns what the command printed. */
export async function paste(command: string, { apiID, apiSecret }: Pick<Keys, 'apiID' | 'apiSecret'>): Promise<string> {
  const env = { ...process.env, API_ID: apiID, API_SECRET: apiSecret };
  const { stdout } = await run('sh', ['-c', command.replace(/^curl /, 'curl --silent --show-error ')], { env });
  return stdout;
}

/** Replaces the keys on the page API Settings, with this choice of when the old keys end. */
export async function replaceKeys(page: Page, overlap = 'Immediately'): Promise<void> {
  await goByMenu(page, 'API Settings');
  await button(page, 'Replace Keys').click();
  await field(page, overlap).check();
  await button(page, 'Save').click();
  await page.getByRole('heading', { name: 'New keys' }).waitFor();
}

/** Sets the password on the page of a one-time link, which also signs in. */
export async function setPassword(page: Page): Promise<void> {
  await field(page, 'Password').fill(PASSWORD);
  await field(page, 'Repeat password').fill(PASSWORD);
  await button(page, 'Set password and sign in').click();
  await arrive(page, 'API Settings');
}
