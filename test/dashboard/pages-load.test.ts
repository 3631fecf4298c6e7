/**
 * Tests how many bytes a browser without a cache fetches for the first pages, and that it fetches them from the service
 * alone. bench/dashboard measures the time.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { openAt } from './at-pages.ts';
import { checkAxe, checkWidth, signIn, waitUntilLoaded } from './browser.ts';
import { openStockedScene } from './scene.ts';

/** Maximum bytes of all files and responses of a page together. */
const BYTES_MAX = 60_000;

const { service, owner } = await openStockedScene();

interface Fetched {
  readonly url: string;
  readonly encoding: string;
  bytes: number;
}

/** Returns a list that receives everything the page fetches from now on, with its bytes: headers and encoded body. */
async function weigh(page: Page): Promise<Fetched[]> {
  const session = await page.context().newCDPSession(page);
  const fetched = new Map<string, Fetched>();
  session.on('Network.responseReceived', ({ requestId, response }) => {
    const encoding = response.headers['content-encoding'] ?? 'identity';
    fetched.set(requestId, { url: response.url, encoding, bytes: 0 });
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
  for (const { url, encoding, bytes: own } of fetched)
    context.diagnostic(`  ${own} ${encoding} ${new URL(url).pathname}`);
  return bytes;
}

test('first loads of sign-in page and records fetch less than 60 kB, from the service alone', async (context) => {
  const page = await openAt(context, service, owner);
  const fetched = await weigh(page);
  await page.goto('/dashboard/sign-in');
  await waitUntilLoaded(page);
  assert.ok(fetched.length >= 3);
  assert.ok(tell(context, 'sign-in page', fetched) < BYTES_MAX);

  // A third browser gets the session's cookies but has an empty cache, so it fetches everything for the list.
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

test('the sign-in page and the records pass axe and fit their window', async (context) => {
  const page = await openAt(context, service, owner);
  await page.goto('/dashboard/sign-in');
  for (const check of [waitUntilLoaded, checkAxe, checkWidth]) await check(page);
  await signIn(page, owner);
  await page.goto('/dashboard/records/orders');
  for (const check of [waitUntilLoaded, checkAxe, checkWidth]) await check(page);
});
