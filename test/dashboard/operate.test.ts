/**
 * Tests the page Operate: only owners of the operator's team see it, it shows the calls of each team as `storeroom
 * usage` prints them, and a backup begun there is made and verified.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { suite, test } from 'node:test';
import { ownService, temporaryFolder } from '../kit/service.ts';
import { button, field, figureOf, goByMenu, openAs, region, shownCells } from './at-pages.ts';
import { checkAxe, checkWidth } from './browser.ts';
import { auditOf, BEHIND_PROXY, forgetProof, openTenant } from './scene.ts';
import { expectCode, PASSWORD, Visitor } from './visitor.ts';

const MADE = 'was made and verified';
const NOT_FOUND = '404 NOT_FOUND';

suite('the operator’s team', async () => {
  const backups = temporaryFolder();
  const service = await ownService({ env: { ...BEHIND_PROXY, STOREROOM_OPERATOR_TEAM: 'operators' } });
  const keys = await service.makeTenant('operators');
  const first = { teamID: 'operators', keys, owner: await Visitor.make(service, 'operators', 'owner') };
  const second = await openTenant(service);
  const isEmbedded = service.databaseUrl === undefined;

  test('is reported missing when the service starts, if no team has its ID', async () => {
    await service.said((output) => output.includes("No team has the ID 'operators' of STOREROOM_OPERATOR_TEAM"));
  });

  test('404 there is none by default once there is a second team; the only team needs no setting', async () => {
    const unset = await ownService({ env: BEHIND_PROXY });
    const { owner: older } = await openTenant(unset);
    assert.equal((await older.ask('GET /session')).isOperator, true);
    await older.ask('GET /operate');
    const { owner: newer } = await openTenant(unset);
    for (const owner of [older, newer]) {
      assert.equal((await owner.ask('GET /session')).isOperator, false);
      for (const reply of [owner.get('/operate'), owner.post('/operate/backup')]) {
        const { body } = await expectCode(reply, NOT_FOUND);
        assert.match((body as { message: string }).message, /STOREROOM_OPERATOR_TEAM/);
      }
    }
  });

  test('is the team of the setting; its owners see every team with its calls, and no one else does', async () => {
    const developer = await first.owner.add('developer');
    for (const visitor of [second.owner, developer]) {
      assert.equal((await visitor.ask('GET /session')).isOperator, false);
      const code = visitor === developer ? '403 ROLE_NOT_ALLOWED' : NOT_FOUND;
      for (const reply of [visitor.get('/operate'), visitor.post('/operate/backup')]) await expectCode(reply, code);
    }
    assert.equal((await first.owner.ask('GET /session')).isOperator, true);
    for (let call = 0; call < 3; call++) await service.call(second.keys, 'POST', '/orders/query', { body: [] });
    const view = await first.owner.ask('GET /operate');
    const { total } = (await service.command('usage', second.teamID, '--json')).json() as { total: number };
    assert.deepEqual(
      view.teams.map(({ teamID, monthCalls }) => [teamID, monthCalls]),
      [
        [first.teamID, 0],
        [second.teamID, total],
      ],
    );
    assert.deepEqual([view.ready, view.usable, view.store], [true, true, isEmbedded ? 'SQLite' : 'PostgreSQL']);
    assert.equal((view.disk?.freeBytes ?? 0) > 0, isEmbedded);
    const text = JSON.stringify(view);
    for (const { keys: pair } of [first, second])
      assert.ok(!text.includes(pair.apiID) && !text.includes(pair.apiSecret));
  });

  test('400 a backup is refused with advice if none are scheduled, and is in no log', async () => {
    const { body } = await expectCode(first.owner.post('/operate/backup'), '400 COMMAND_REFUSED');
    assert.match((body as { message: string }).message, isEmbedded ? /STOREROOM_BACKUP_DIR/ : /pg_basebackup/);
    assert.ok((await auditOf(first.owner)).every(({ action }) => action !== 'backup started'));
  });

  test('may be any team; a backup begun there is made, verified and in the audit log', async (context) => {
    const env = {
      ...BEHIND_PROXY,
      STOREROOM_OPERATOR_TEAM: 'shop',
      ...(isEmbedded && { STOREROOM_BACKUP_DIR: backups }),
    };
    const other = await ownService({ env });
    const { owner: oldest } = await openTenant(other);
    await other.makeTenant('shop');
    const owner = await Visitor.make(other, 'shop', 'owner');
    await expectCode(oldest.get('/operate'), NOT_FOUND);
    const page = await openAs(context, other, owner);
    await goByMenu(page, 'Operate');
    await checkAxe(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await checkWidth(page);
    await page.setViewportSize({ width: 1440, height: 900 });
    assert.match(await figureOf(page, 'Version').innerText(), /^\d+\.\d+/);
    assert.equal((await shownCells(region(page, 'Teams of the service'))).length, 2);
    if (!isEmbedded) return page.getByText('Back up PostgreSQL with its own tools').waitFor();
    await other.move(2000);
    await other.said((output) => output.includes(MADE));
    await other.move(60_000);
    await forgetProof(other, owner.email);
    await expectCode(owner.post('/operate/backup'), '403 PROOF_NEEDED');
    await button(page, 'Back up now').click();
    await field(page, 'Your password').fill(PASSWORD);
    await button(page, 'Confirm').click();
    await other.said((output) => output.split(MADE).length === 3);
    assert.equal(readdirSync(backups).filter((name) => name.startsWith('storeroom-')).length, 2);
    await button(page, 'Refresh').click();
    await button(page, 'Back up now').waitFor();
    const [last] = (await auditOf(owner)).slice(-1);
    assert.deepEqual([last?.actor, last?.action, last?.target], [owner.email, 'backup started', 'service']);
  });
});
