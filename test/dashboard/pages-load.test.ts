/**
 * What it takes to be shown the first pages: bytes as they come over the wire, whom they are fetched from, and how long it is until one can begin. Each
 * load is that of a browser that was never here before.
 */
import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { stockShop } from '../operations.ts';
import type { Service } from '../service.ts';
import { openAt, until } from './at-pages.ts';
import { signIn, waitUntilLoaded } from './browser.ts';
import { openScene } from './scene.ts';
import { Visitor } from './visitor.ts';

/** Of all files and answers together. */
const BYTES_MAX = 60_000;
/** Until the sign-in form takes input. */
const INTERACTIVE_MS = 200;
const LOADS = 5;
const LOADS_MAX = 25;

let service: Service;
let owner: Visitor;
before(async () => {
  service = await openScene();
  await stockShop(service, 'shop');
  owner = await Visitor.make(service, 'shop', 'owner');
});
after(() => service.stop());

interface Fetched {
  readonly url: string;
  readonly encoding: string;
  bytes: number;
}

/** Everything the page fetches from now on, with the bytes that came: headers, and the body as it was encoded. */
async function weigh(page: Page): Promise<Fetched[]> {
  const session = await page.context().newCDPSession(page);
  const fetched = new Map<string, Fetched>();
  session.on('Network.responseReceived', ({ requestId, response }) => {
    fetched.set(requestId, { url: response.url, encoding: response.headers['content-encoding'] ?? 'as it is', bytes: 0 });
  });
  const all: Fetched[] = [];
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const one = fetched.get(requestId);
    if (one !== undefined) all.push(Object.assign(one, { bytes: encodedDataLength }));
  });
  await session.send('Network.enable');
  return all;
}

function tell(context: TestContext, what: string, fetched: readonly Fetched[]): number {
  const bytes = fetched.reduce((sum, one) => sum + one.bytes, 0);
  context.diagnostic(`${what}: ${bytes} bytes in ${fetched.length} answers`);
  for (const { url, encoding, bytes: own } of fetched) context.diagnostic(`  ${own} ${encoding} ${new URL(url).pathname}`);
  return bytes;
}

test('the first load of the sign-in page, and then that of the first records, each fetch less than 60 kB, from the service alone', async (context) => {
  const page = await openAt(context, service, owner);
  const fetched = await weigh(page);
  await page.goto('/dashboard/sign-in');
  await waitUntilLoaded(page);
  assert.ok(fetched.length >= 3);
  assert.ok(tell(context, 'sign-in page', fetched) < BYTES_MAX);

  // Another browser, whose session is there already: all of it is fetched for the records.
  const other = await openAt(context, service, owner);
  await signIn(other, owner);
  const cookies = await other.context().cookies();
  const fresh = await openAt(context, service, owner);
  await fresh.context().addCookies(cookies);
  const records = await weigh(fresh);
  await fresh.goto('/dashboard/records/orders');
  await fresh.getByRole('region', { name: 'Orders', exact: true }).getByRole('link').first().waitFor();
  await waitUntilLoaded(fresh);
  assert.ok(tell(context, 'records page', records) < BYTES_MAX);
  for (const one of [...fetched, ...records]) {
    assert.equal(new URL(one.url).origin, service.origin);
    if (/\.(js|css)$/.test(one.url)) assert.match(one.encoding, /^(br|gzip)$/, one.url);
  }
});

/** When it first held, in ms since the navigation began; `holds` is looked at whenever the document changes or something takes the focus. */
async function timeUntil(page: Page, path: string, holds: string): Promise<number> {
  await page.addInitScript(`{
    const look = () => { if (window.heldAt === undefined && (${holds})) window.heldAt = performance.now(); };
    new MutationObserver(look).observe(document, { childList: true, subtree: true, attributes: true });
    document.addEventListener('focusin', look);
  }`);
  await page.goto(path);
  await until(async () => (await page.evaluate('window.heldAt')) !== undefined, holds);
  return page.evaluate<number>('window.heldAt');
}
const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]!;
const rounded = (times: readonly number[]): string => times.map((time) => `${Math.round(time)} ms`).join(', ');

test('the sign-in form of a warm service takes input less than 200 ms after the navigation began', async (context) => {
  const times: number[] = [];
  // Other tests run beside this one and take the processors: it is tried again until it had them to itself for once.
  while (times.length < LOADS || (times.length < LOADS_MAX && Math.min(...times) >= INTERACTIVE_MS)) {
    const page = await openAt(context, service, owner);
    times.push(await timeUntil(page, '/dashboard/sign-in', `document.activeElement?.name === 'teamID'`));
    await page.keyboard.type('shop');
    assert.equal(await page.getByLabel('Team', { exact: true }).inputValue(), 'shop');
  }
  context.diagnostic(`sign-in form: ${rounded(times)}; median ${rounded([median(times)])}`);
  assert.ok(Math.min(...times) < INTERACTIVE_MS, rounded(times));
});

test('the records are there for a user who is signed in; how soon is told', async (context) => {
  const first = await openAt(context, service, owner);
  await signIn(first, owner);
  const cookies = await first.context().cookies();
  const times: number[] = [];
  for (let load = 0; load < LOADS; load++) {
    const page = await openAt(context, service, owner);
    await page.context().addCookies(cookies);
    times.push(await timeUntil(page, '/dashboard/records/orders', `document.querySelector('[aria-label=Orders] tbody tr a') !== null`));
  }
  context.diagnostic(`records: ${rounded(times)}; median ${rounded([median(times)])}`);
});
