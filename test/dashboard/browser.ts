/**
 * Opens the dashboard in a real browser, which the test files share, signs in, and runs axe-core. A test fails if the
 * browser reports an error, if a page violates its content policy, or if it calls another server.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'node:test';
import { chromium, type Browser, type Page, type Request } from 'playwright-core';
import { unpackChromium } from '../kit/chromium.ts';
import { temporaryFolder, type Service } from '../kit/service.ts';
import { share } from '../kit/shared.ts';
import { until } from '../kit/wait.ts';
import { PASSWORD, type Visitor } from './visitor.ts';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--force-color-profile=srgb',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', // the browser itself cannot reach other hosts either
];
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
/** WCAG 2.2 AA, and the rules that axe-core calls best practice. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Requests to the dashboard's API, without the one that waits for changes. */
const IS_ASKED = /\/dashboard\/api\/(?!records\/changes)/;
/** Waits two frames: within them the page shows the data that it has received, and requests the data that it then needs. */
const TWO_FRAMES = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))';

export const openBrowser = share<Browser>(
  async () => {
    const { executablePath, env } = await unpackChromium();
    const launch = (): Promise<Browser> =>
      chromium.launch({ executablePath, args: ARGS, env: { ...process.env, ...env, TMPDIR: temporaryFolder() } });
    // Chromium can crash (SIGSEGV) while it starts, before it has run any of our code. Then it is started once more.
    return launch().catch(launch);
  },
  (browser) => browser.close(),
);

/** Opens an empty page in a new browser context. The test fails at its end if the browser has reported an error. */
export async function openPage(test: TestContext, service: Service, locale = 'en-GB'): Promise<Page> {
  const browser = await openBrowser();
  const context = await browser.newContext({
    baseURL: service.origin,
    viewport: { width: 1440, height: 900 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
    locale,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(0); // run.ts ends a file that hangs
  await context.clock.install({ time: service.now() }); // the clock runs from there
  await context.addInitScript(`addEventListener('securitypolicyviolation', (event) =>
    console.error('The policy forbids', event.violatedDirective, event.blockedURI, event.sample))`);
  context.on('page', followRequests);
  const page = await context.newPage();
  const complaints = listen(page, service.origin);
  test.after(async () => {
    await context.close();
    assert.deepEqual(complaints, [], 'the browser complained');
  });
  return page;
}

/** The requests of each page that are not over. */
const pending = new WeakMap<Page, Set<Request>>();

function followRequests(page: Page): void {
  const requests = new Set<Request>();
  pending.set(page, requests);
  page.on('request', (request) => {
    if (request.isNavigationRequest()) requests.clear(); // the browser does not tell what becomes of the others
    else if (IS_ASKED.test(request.url())) requests.add(request);
  });
  page.on('requestfinished', (request) => requests.delete(request));
  page.on('requestfailed', (request) => requests.delete(request));
}

/** Collects errors that no page may cause. Refusals are not among them: tests look for these on the pages. */
function listen(page: Page, origin: string): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (fault) => complaints.push(`${page.url()}: ${fault.stack ?? fault.message}`));
  page.on('console', (message) => {
    const isRefusal =
      message.text().startsWith('Failed to load resource') &&
      / 4\d\d /.test(message.text()) &&
      message.location().url.includes('/dashboard/api/');
    if ((message.type() === 'error' || message.type() === 'warning') && !isRefusal)
      complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)) complaints.push(`${page.url()} asked ${url}`);
  });
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    // A page cancels its requests when the user leaves it.
    if (reason !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${reason}`);
  });
  return complaints;
}

/** Fills in the sign-in form and sends it. */
export async function sendSignIn(page: Page, { teamID, email }: Visitor): Promise<void> {
  await page.getByLabel('Team', { exact: true }).fill(teamID);
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Signs in on the sign-in page, then opens the list of orders. */
export async function signIn(page: Page, visitor: Visitor): Promise<void> {
  await page.goto('/dashboard/sign-in');
  await sendSignIn(page, visitor);
  await page.waitForURL('**/dashboard/home');
  await waitUntilLoaded(page);
  await goTo(page, '/records/orders');
}

/** Goes to a path below /dashboard and waits until the page has loaded everything that it shows at first. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.goto(`/dashboard${path}`);
  await waitUntilLoaded(page);
}

/** Waits until the page has a heading, and twice in a row has no pending request and nothing that is loading. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  const loading = page.locator('.skeleton, main [aria-busy=true]');
  let quiet = 0;
  await until(async () => {
    const isDrawn = await page.evaluate(TWO_FRAMES).then(
      () => true,
      () => false, // the page was left meanwhile
    );
    const isQuiet = isDrawn && pending.get(page)!.size === 0 && (await loading.count()) === 0;
    quiet = isQuiet ? quiet + 1 : 0;
    return quiet === 2;
  });
}

interface Violation {
  id: string;
  help: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

/** Runs axe-core on the page in its current state. Fails with every violation and its place. */
export async function checkAxe(page: Page): Promise<void> {
  await page.evaluate(AXE);
  const violations = await page.evaluate<Violation[]>(
    `axe.run({ runOnly: ${JSON.stringify(RULES)} }).then(({ violations }) => violations)`,
  );
  const said = violations.map(({ id, help, nodes }) => {
    const places = nodes.map(({ target, failureSummary = '' }) => `  ${target.join(' ')}\n    ${failureSummary}`);
    return [`${id}: ${help}`, ...places].join('\n');
  });
  assert.equal(said.join('\n'), '', `axe-core at ${page.url()}`);
}

/** Checks that the page is not wider than its window, so that a phone cuts nothing off and does not scroll sideways. */
export async function checkWidth(page: Page): Promise<void> {
  const tooWide = (await page.locator('html').evaluate((root) => root.scrollWidth)) - page.viewportSize()!.width;
  assert.ok(tooWide <= 0, `${page.url()} is ${tooWide} px wider than the window`);
}
