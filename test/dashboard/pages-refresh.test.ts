/** Tests in a browser that a list can be refreshed while its first page is still loading. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrive, button, openAs, region } from './at-pages.ts';
import { openStockedScene } from './scene.ts';

const { service, owner } = await openStockedScene();

for (const [name, path] of Object.entries({ 'Audit log': 'audit', Requests: 'requests' }))
  test(`${name}: Refresh while the first page loads shows no error, and then the page`, async (context) => {
    const page = await openAs(context, service, owner);
    const address = `**/dashboard/api/${path}*`;
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    await page.route(address, async (route) => {
      await isReleased;
      // The browser has already cancelled the first request, so `continue` fails for it.
      await route.continue().catch(() => undefined);
    });
    const link = page.getByRole('navigation', { name: 'Dashboard' }).getByRole('link', { name, exact: true });
    await Promise.all([page.waitForRequest(address), link.click()]);
    await arrive(page, name);
    await Promise.all([
      page.waitForEvent('requestfailed', (request) => request.url().includes(`/api/${path}`)),
      page.waitForRequest(address),
      button(page, 'Refresh').click(),
    ]);
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
    assert.equal(await page.getByRole('main').getByRole('alert').count(), 0, await page.getByRole('main').innerText());
    release();
    await region(page, name).getByRole('row').nth(1).waitFor();
    assert.equal(await page.getByRole('main').getByRole('alert').count(), 0);
  });
