/** Tests tenants, their keys, their fields and their usage at the command line. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { SqliteStore } from '../../src/store/sqlite/store.ts';
import { hashSecret, looksLikeSecret, sameHash } from '../../src/tenant/credentials.ts';
import { openFolder } from '../store/sqlite-folder.ts';
import { timeAt } from '../kit/clock.ts';
import { ownService, temporaryFolder, type Keys } from '../kit/service.ts';
import { newDatabase } from '../kit/postgres.ts';
import { cellsOf } from '../kit/lists.ts';
import { openCommandLine, type CommandLine } from '../kit/cli-process.ts';

/** Opens the store beside the command line, as the service does. */
async function withStore<T>({ data }: CommandLine, work: (store: SqliteStore) => Promise<T>): Promise<T> {
  const store = openFolder(data, { busyTimeoutMs: 5000 });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Returns whether the service would accept this pair, now or at another time. */
const isLetIn = (line: CommandLine, { teamID, apiID, apiSecret }: Keys, time = timeAt()): Promise<boolean> =>
  withStore(line, async (store) => {
    const caller = await store.tenants.findCaller(teamID, apiID, time);
    return caller !== undefined && sameHash(caller.secretHash, hashSecret(apiSecret));
  });

suite('tenants', () => {
  const line = openCommandLine();
  const { ask, run, refused } = line;

  // Holds S13.3.
  test('a tenant is created with its settings, and so is the data folder', async () => {
    const made = await ask('tenant create acme --create --name', 'Acme Ltd.');
    const { createdAt, ...rest } = made;
    assert.match(String(createdAt), /^\d{4}-.*Z$/);
    const unlimited = { monthQuota: null, callsPerSecond: null };
    assert.deepEqual(rest, {
      teamID: 'acme',
      name: 'Acme Ltd.',
      defaultStage: 'worksheet',
      strict: false,
      ...unlimited,
    });
    assert.deepEqual(await ask('tenant list'), { tenants: [made] });
  });

  test('a tenant without a name has its team ID as its name', async () => {
    assert.equal((await ask('tenant create plain'))['name'], 'plain');
    await ask('tenant remove plain --yes');
  });

  test('creating a tenant asks whether to accept orders with codes of unknown parts and customers', async () => {
    const { exitCode, out } = await run('tenant create asked');
    assert.deepEqual([exitCode, out.includes('storeroom tenant set asked --strict on')], [0, true]);
    await ask('tenant remove asked --yes');
  });

  test('a team ID can be used once, in any case', async () => {
    assert.match((await refused('tenant create ACME --name x')).message, /in use/);
  });

  for (const teamId of ['.acme', 'a/b', 'a b', 'a'.repeat(65), ''])
    test(`'${teamId}' is not a team ID`, async () => {
      const { code, field } = await refused('tenant create', teamId, '--name', 'x');
      assert.equal(`${code} ${field}`, 'COMMAND_REFUSED teamID');
    });

  test('an empty name is refused', async () => {
    assert.equal((await refused('tenant create b --name', ' ')).field, 'name');
  });

  test('settings change one by one, and `none` removes a limit', async () => {
    const set = await ask('tenant set acme --strict on --default-stage quote --quota 1000 --rate 2.5');
    const names = 'strict defaultStage monthQuota callsPerSecond';
    assert.deepEqual(cellsOf(set, names), [true, 'quote', 1000, 2.5]);
    const unset = await ask('tenant set acme --quota none');
    assert.deepEqual(cellsOf(unset, names), [true, 'quote', null, 2.5]);
    assert.deepEqual(await ask('tenant list'), { tenants: [unset] });
  });

  // Holds S13.7.
  test('without --json the output is text for people, also for refusals', async () => {
    assert.match((await run('tenant list')).out, /^TEAM +NAME .*\nacme +Acme Ltd\. /);
    const { exitCode, out, err } = await run('tenant set nobody --strict on');
    assert.equal(`${exitCode} ${out}`, '1 ');
    const refusal = "storeroom: There is no tenant 'nobody'. `storeroom tenant list` shows all tenants.";
    assert.equal(err, `Store: ${line.data} (SQLite)\n${refusal}\n`);
  });

  test('a tenant is not removed if no one can be asked, except with --yes', async () => {
    const { code, message } = await refused('tenant remove acme');
    assert.equal(code, 'COMMAND_REFUSED');
    assert.match(message, /--yes/);
    assert.equal((await ask<{ tenants: unknown[] }>('tenant list')).tenants.length, 1);
  });

  test('a removed tenant leaves no keys, records or usage, and its team ID is free', async () => {
    const keys = await ask<Keys>('keys replace acme');
    await ask('fields add acme orders GIFT --type flag');
    await withStore(line, (store) =>
      store.usage.addUsage([{ teamId: 'acme', day: '2026-11-20', operation: 'getOrder', calls: 3 }]),
    );
    assert.deepEqual(await ask('tenant remove acme --yes'), { teamID: 'acme', removed: true });
    assert.deepEqual(await ask('tenant list'), { tenants: [] });
    assert.deepEqual(readdirSync(join(line.data, 'tenants')), []);
    assert.equal((await refused('keys replace acme')).code, 'TENANT_NOT_FOUND');
    await ask('tenant create acme --name Another');
    assert.equal(await isLetIn(line, keys), false);
    assert.equal((await ask('usage acme --month 2026-11'))['total'], 0);
  });
});

test('if all tenants are on one server, the commands for several servers say how to set them up', async () => {
  const databaseUrl = await newDatabase();
  for (const { ask, run } of [openCommandLine(), openCommandLine({ STOREROOM_DATABASE_URL: databaseUrl })]) {
    await ask('tenant create acme --create');
    for (const words of ['tenant place acme', 'tenant move acme --to 10.0.0.2:5432', 'database list']) {
      const { exitCode, out, err } = await run(words);
      assert.deepEqual([exitCode, out], [1, ''], words);
      assert.match(err, /All tenants are on one server\. docs\/several-nodes\/several-servers\.md says/);
    }
  }
});

test('tenant restore is refused with PostgreSQL before it connects or asks', async () => {
  const { refused } = openCommandLine({ STOREROOM_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
  const { code, message } = await refused('tenant restore acme --from /backups');
  assert.match(`${code} ${message}`, /^COMMAND_REFUSED This command is only for the embedded store\./);
});

suite('which store', () => {
  const { run, refused, ask, data } = openCommandLine();
  const create = 'tenant create acme';

  test('a command creates a store only with --create or in an empty folder, and otherwise says how', async () => {
    const { code, message } = await refused(create);
    assert.equal(code, 'COMMAND_REFUSED');
    assert.ok(message.startsWith(`There is no data in ${data}. `) && message.includes('--create'), message);
    await refused('tenant create a/b --create');
    assert.equal(existsSync(data), false, 'values are checked before a store is made');
    assert.equal((await run(`${create} --create`)).exitCode, 0);
    const given = openCommandLine({ STOREROOM_DATA: temporaryFolder() });
    assert.equal((await given.run(create)).exitCode, 0, 'an empty folder was made for a store');
  });

  test('standard error names the store, and is empty with --json', async () => {
    for (const words of ['tenant list', 'keys create acme --name shop', 'export acme orders', 'check']) {
      const { out, err } = await run(words);
      assert.deepEqual([err, out.includes(data)], [`Store: ${data} (SQLite)\n`, false], words);
    }
    assert.equal((await ask<{ tenants: unknown[] }>('tenant list')).tenants.length, 1);
  });

  test('a command on an unused store names a service that runs with another one', async () => {
    const service = await ownService();
    const { hostname, port } = new URL(service.origin);
    const beside = openCommandLine({ STOREROOM_HOST: hostname, STOREROOM_PORT: port });
    const { err } = await beside.run(`${create} --create`);
    assert.match(err, new RegExp(`^Store: .*\\nThe service at ${service.origin} does not use this store\\. .*\\n$`));
  });
});

suite('keys', () => {
  const line = openCommandLine();
  const { ask, run } = line;

  // Holds S13.3.
  test('the new pair is accepted and the old one refused from that moment', async () => {
    await ask('tenant create acme --create --name Acme');
    const first = await ask<Keys>('keys replace acme');
    assert.deepEqual(Object.keys(first), ['teamID', 'apiID', 'apiSecret']);
    assert.ok(looksLikeSecret(first.apiSecret));
    assert.equal(await isLetIn(line, first), true);
    const second = await ask<Keys>('keys replace acme');
    assert.deepEqual([await isLetIn(line, first), await isLetIn(line, second)], [false, true]);
  });

  test('with an overlap the old pair ends when it is over', async () => {
    const first = await ask<Keys>('keys replace acme');
    const second = await ask<Keys>('keys replace acme --overlap 1h');
    const { keys } = await ask<{ keys: { apiID: string; createdAt: string; endsAt: string | null }[] }>(
      'keys list acme',
    );
    const endsAt = keys.find(({ apiID }) => apiID === first.apiID)!.endsAt!;
    const { createdAt } = keys.find(({ apiID }) => apiID === second.apiID)!;
    assert.equal(Date.parse(endsAt) - Date.parse(createdAt), 3_600_000);
    const before = new Date(Date.parse(endsAt) - 1).toISOString();
    assert.deepEqual([await isLetIn(line, first, before), await isLetIn(line, second, before)], [true, true]);
    assert.deepEqual([await isLetIn(line, first, endsAt), await isLetIn(line, second, endsAt)], [false, true]);
  });

  // Holds S2.7.
  test('the output says that the secret is not shown again, and which pair was replaced', async () => {
    const { out } = await run('keys replace acme');
    const pair = /^teamID +acme\napiID +sr_id_\w+\napiSecret +sr_sk_\w+\n\n/;
    assert.match(out, pair);
    assert.equal(
      out.replace(pair, ''),
      'The secret is not shown again. Older keys with the name default have ended.\n',
    );
  });
});

suite('fields and usage', () => {
  const line = openCommandLine();
  const { ask, run, refused } = line;
  type Fields = { fields: { recordType: string; name: string; type: string; custom: boolean }[] };

  test('a tenant gets a custom field, and no second one with that name', async () => {
    await ask('tenant create acme --create --name Acme');
    const before = await ask<Fields>('fields list acme orders');
    await ask('fields add acme orders GIFT_WRAP --type flag');
    const { fields } = await ask<Fields>('fields list acme orders');
    assert.equal(fields.length, before.fields.length + 1);
    assert.deepEqual(
      fields.filter(({ custom }) => custom).map(({ recordType, name, type }) => [recordType, name, type]),
      [['orders', 'GIFT_WRAP', 'flag']],
    );
    assert.equal((await refused('fields add acme orders GIFT_WRAP --type flag')).field, 'GIFT_WRAP');
    assert.equal((await refused('fields add acme orders Gift --type flag')).code, 'COMMAND_REFUSED');
    assert.match((await run('fields list acme')).out, /^inventory +BARCODE +text +indexed$/m);
  });

  // Holds S4.1, S13.6.
  test('usage is the total of a month, also by day and by operation', async () => {
    await withStore(line, (store) =>
      store.usage.addUsage([
        { teamId: 'acme', day: '2020-10-31', operation: 'getOrder', calls: 100 },
        { teamId: 'acme', day: '2020-11-01', operation: 'getOrder', calls: 5 },
        { teamId: 'acme', day: '2020-11-01', operation: 'createOrder', calls: 2 },
        { teamId: 'acme', day: '2020-11-30', operation: 'getOrder', calls: 1 },
        { teamId: 'other', day: '2020-11-30', operation: 'getOrder', calls: 1000 },
      ]),
    );
    assert.deepEqual(await ask('usage acme --month 2020-11'), {
      teamID: 'acme',
      month: '2020-11',
      total: 8,
      byDay: [
        { day: '2020-11-01', calls: 7 },
        { day: '2020-11-30', calls: 1 },
      ],
      byOperation: [
        { operation: 'createOrder', calls: 2 },
        { operation: 'getOrder', calls: 6 },
      ],
      byKey: [],
    });
    const { out } = await run('usage acme --month 2020-11');
    assert.match(out, /^acme made 8 calls in 2020-11 \(UTC\)\.\n\n2020-11-01 +7\n/);
  });

  // Holds S13.6.
  test('usage without a month is of this month', async () => {
    const { month, total } = await ask('usage acme');
    assert.deepEqual([month, total], [timeAt().slice(0, 7), 0]);
  });
});
