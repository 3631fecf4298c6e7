/**
 * The dashboard in a real browser: pages that fail their test when the browser complains, when the content policy is
 * broken or when anybody but the service is asked; signing in; axe-core over what is shown. Files share the browser.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'node:test';
import { chromium, type Browser, type Page } from 'playwright-core';
import { unpackChromium } from '../kit/chromium.ts';
import { temporaryFolder, type Service } from '../kit/service.ts';
import { share } from '../kit/shared.ts';
import { PASSWORD, type Visitor } from './visitor.ts';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--force-color-profile=srgb',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', // the browser itself finds nobody either
];
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
/** WCAG 2.2 AA, and what axe-core calls best practice. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

export const openBrowser = share<Browser>(
  async () => {
    const { executablePath, env } = await unpackChromium();
    const launch = (): Promise<Browser> =>
      chromium.launch({ executablePath, args: ARGS, env: { ...process.env, ...env, TMPDIR: temporaryFolder() } });
    // Chromium can crash (SIGSEGV) while it starts, before anything of ours has run in it.
    return launch().catch(launch);
  },
  (browser) => browser.close(),
);

/** An empty page of a context of its own. When the test ends, it fails with whatever the browser complained of. */
export async function openPage(test: TestContext, service: Service): Promise<Page> {
  const browser = await openBrowser();
  const context = await browser.newContext({
    baseURL: service.origin,
    viewport: { width: 1440, height: 900 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
    locale: 'en-GB',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(0); // run.ts ends a file that hangs
  await context.clock.install({ time: service.now() }); // it passes on
  await context.addInitScript(`addEventListener('securitypolicyviolation', (event) =>
    console.error('The policy forbids', event.violatedDirective, event.blockedURI, event.sample))`);
  const page = await context.newPage();
  const complaints = listen(page, service.origin);
  test.after(async () => {
    await context.close();
    assert.deepEqual(complaints, [], 'the browser complained');
  });
  return page;
}

/** Collects what no page may cause. Refusals are not among it: the pages show them, and tests look there. */
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
    // A page that is left cancels what it no longer wants.
    if (reason !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${reason}`);
  });
  return complaints;
}

/** Fills in the sign-in form and sends it. */
export async function sendSignIn(page: Page, { teamID, email }: Visitor): Promise<void> {
  await page.getByLabel('Team', { exact: true }).fill(teamID);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Signs in on the real page, and goes on to the orders. */
export async function signIn(page: Page, visitor: Visitor): Promise<void> {
  await page.goto('/dashboard/sign-in');
  await sendSignIn(page, visitor);
  await page.waitForURL('**/dashboard/home');
  await waitUntilLoaded(page);
  await goTo(page, '/records/orders');
}

/** Goes to a path below /dashboard and waits until all that the page shows first has been loaded. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.goto(`/dashboard${path}`);
  await waitUntilLoaded(page);
}

/** Until there is a heading and nothing is on its way any more. */
export async function waitUntilLoaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForLoadState('networkidle');
  await page.locator('.skeleton, main [aria-busy=true]').first().waitFor({ state: 'detached' });
}

interface Violation {
  id: string;
  help: string;
  nodes: { target: string[]; failureSummary?: string }[];
}

/** axe-core over the page as it is now, in its colours. Fails with every violation and where it is. */
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

/** No page is wider than its window: on a phone nothing is cut off or scrolls sideways. */
export async function checkWidth(page: Page): Promise<void> {
  const tooWide = (await page.locator('html').evaluate((root) => root.scrollWidth)) - page.viewportSize()!.width;
  assert.ok(tooWide <= 0, `${page.url()} is ${tooWide} px wider than the window`);
}
