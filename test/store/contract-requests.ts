/** Contract: blocks of the request log, counts of refusals, uses of keys, and deleting old ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UsageStore } from '../../src/tenant/tenant-port.ts';
import type { KeyUse, RefusalCount, RequestBlock, RequestStore } from '../../src/request-log/request-log-port.ts';
import { times } from '../kit/lists.ts';
import { NOW, type StoreUnderTest } from './store-under-test.ts';

const at = (seconds: number): string => new Date(Date.parse(NOW) + seconds * 1000).toISOString();
const ALL = { before: '', from: '', to: '' };

/** Returns a block of one second, which begins at `seconds`. */
const block = (teamId: string, seconds: number, more: Partial<RequestBlock> = {}): RequestBlock => {
  const { boot = 'boot-1', firstNumber = seconds * 10 } = more;
  const blockId = `${at(seconds + 1)} ${boot}-${firstNumber.toString(36)}`;
  return {
    teamId,
    blockId,
    firstAt: at(seconds),
    boot,
    firstNumber,
    lastNumber: firstNumber + 9,
    lines: Buffer.from([seconds % 256, 0, 255]),
    ...more,
  };
};
const ids = (blocks: readonly RequestBlock[]): string[] => blocks.map(({ blockId }) => blockId);
const use = (
  teamId: string,
  apiId: string,
  usedAt: string,
  client: string,
  usedInUrlAt = '',
): KeyUse & { teamId: string } => ({ teamId, apiId, usedAt, client, usedInUrlAt });

export function describeRequests(store: StoreUnderTest): void {
  const requests = async (): Promise<RequestStore> => (await store.first()).requests;
  const usage = async (): Promise<UsageStore> => (await store.first()).usage;
  const refusals = (teamId: string, calls: number, day = '2026-11-20', operation = 'getOrder'): RefusalCount => ({
    teamId,
    day,
    operation,
    calls,
  });
  const add = async (...blocks: RequestBlock[]): Promise<void> => (await requests()).addRequests(blocks, [], []);

  test('a block is read back byte for byte, by every process and for its tenant only', async () => {
    const bytes = new Uint8Array(200_000).map((_, index) => (index * 7919) % 256);
    const given = [
      block('bytes', 1, { lines: bytes }),
      block('bytes', 0, { lines: new Uint8Array(1), firstNumber: 2 ** 40, lastNumber: 2 ** 41 }),
    ];
    await add(...given, block('others', 0));
    for (const one of [await requests(), (await store.openAgain()).requests]) {
      const read = await one.loadBlocks('bytes', ALL, 10);
      const shown = read.map((found) => ({ ...found, lines: Buffer.from(found.lines).toString('hex') }));
      assert.deepEqual(
        shown,
        given.map((found) => ({ ...found, lines: Buffer.from(found.lines).toString('hex') })),
      );
    }
    assert.deepEqual(await (await requests()).loadBlocks('nobody', ALL, 10), []);
  });

  test('blocks are read by last request, newest first, within their bounds, as many as requested', async () => {
    const given = times(20, (index) => block('order', index));
    await add(...given.toReversed());
    const newest = given.toReversed();
    const read = async (range: Partial<typeof ALL>, limit = 100): Promise<string[]> =>
      ids(await (await requests()).loadBlocks('order', { ...ALL, ...range }, limit));
    assert.deepEqual(await read({}), ids(newest));
    assert.deepEqual(await read({}, 3), ids(newest.slice(0, 3)));
    assert.deepEqual(await read({ before: newest[2]!.blockId }, 3), ids(newest.slice(3, 6)));
    const found = await read({ before: at(4) });
    assert.deepEqual(found, ids(given.slice(0, 3).toReversed()), 'a time is below the blocks that end at it');
    assert.deepEqual(await read({ from: at(18) }), ids(newest.slice(0, 3)), 'the block that ends at it has it');
    const got = await read({ to: at(2) });
    assert.deepEqual(got, ids(given.slice(0, 3).toReversed()), 'and so has the one that begins at it');
    assert.deepEqual(await read({ from: at(18), to: at(17) }), ids([given[17]!]));
    assert.deepEqual(await read({ from: at(100) }), []);
  });

  test('the block of a number is found by boot and number among many, also where blocks overlap', async () => {
    const many = times(60, (index) => block('find', index));
    const late = block('find', 70, { firstNumber: 105, lastNumber: 705 });
    await add(...many, late, block('find', 5, { boot: 'boot-2' }), block('other', 5));
    const find = async (boot: string, number: number): Promise<string[]> =>
      ids(await (await requests()).findBlocks('find', boot, number));
    assert.deepEqual(await find('boot-1', 55), ids([many[5]!]));
    assert.deepEqual(await find('boot-1', 305), ids([many[30]!, late]));
    assert.deepEqual(await find('boot-1', 104), ids([many[10]!]));
    assert.deepEqual(await find('boot-1', 706), []);
    assert.equal((await find('boot-2', 55)).length, 1);
    assert.deepEqual(await find('boot-2', 60), []);
    assert.deepEqual(await find('boot-3', 55), []);
  });

  test('a batch that is sent again is added once, with all its contents', async () => {
    const batch = [
      [block('again', 1), block('again', 2)],
      [refusals('again', 3)],
      [use('again', 'again-key', at(1), 'a')],
    ] as const;
    for (const one of [await requests(), await requests(), (await store.openAgain()).requests])
      await one.addRequests(...batch);
    await Promise.all([await requests(), (await store.openAgain()).requests].map((one) => one.addRequests(...batch)));
    assert.equal((await (await requests()).loadBlocks('again', ALL, 10)).length, 2);
    assert.deepEqual(await (await requests()).loadRefusals('again', '2026-11'), [refusals('again', 3)]);
  });

  test('refusals add up by day and operation, also from two processes at once, and are read by the month', async () => {
    const stores = [await requests(), (await store.openAgain()).requests];
    await Promise.all(
      times(20, (index) =>
        stores[index % 2]!.addRequests(
          [block('refused', index)],
          [
            refusals('refused', 1),
            refusals('refused', 2, '2026-11-21', 'createOrder'),
            refusals('refused', 1, '2026-12-01'),
          ],
          [use('refused', 'refused-key', at(index), `client-${index}`)],
        ),
      ),
    );
    assert.deepEqual(await stores[1]!.loadRefusals('refused', '2026-11'), [
      refusals('refused', 20),
      refusals('refused', 40, '2026-11-21', 'createOrder'),
    ]);
    assert.deepEqual(await stores[0]!.loadRefusals('refused', '2026-12'), [refusals('refused', 20, '2026-12-01')]);
    assert.deepEqual(await stores[0]!.loadRefusals('refused', '2027-11'), []);
    const clients = (await stores[0]!.loadKeyUses('refused')).map(({ client }) => client);
    assert.deepEqual(clients, ['client-19']);
  });

  test('the later use of a key wins, and that its secret once came in a URL is not forgotten', async () => {
    const one = await requests();
    const tell = (...uses: (KeyUse & { teamId: string })[]): Promise<void> => one.addRequests([], [], uses);
    await tell(
      use('uses', 'b', at(5), 'five', at(5)),
      use('uses', 'a', at(5), 'five'),
      use('elsewhere', 'c', at(9), 'nine'),
    );
    await tell(use('uses', 'b', at(7), 'seven'), use('uses', 'a', at(3), 'three', at(3)));
    assert.deepEqual(await one.loadKeyUses('uses'), [
      { apiId: 'a', usedAt: at(5), client: 'five', usedInUrlAt: at(3) },
      { apiId: 'b', usedAt: at(7), client: 'seven', usedInUrlAt: at(5) },
    ]);
    await tell(use('uses', 'a', at(8), 'eight', at(2)));
    assert.deepEqual((await one.loadKeyUses('uses'))[0], {
      apiId: 'a',
      usedAt: at(8),
      client: 'eight',
      usedInUrlAt: at(3),
    });
    assert.deepEqual(await one.loadKeyUses('nobody'), []);
  });

  test('blocks that ended before a time are forgotten, of all tenants; refusals and uses of keys stay', async () => {
    const one = await requests();
    const old = (teamId: string): RequestBlock[] => times(450, (index) => block(teamId, index - 100_000));
    const kept = [block('forget-a', -99_000), block('forget-a', 1), block('forget-c', 5)];
    await one.addRequests(
      [...old('forget-a'), ...old('forget-b'), ...kept],
      [refusals('forget-b', 7)],
      [use('forget-b', 'forgotten', at(0), 'x')],
    );
    const [second] = [(await store.openAgain()).requests];
    await Promise.all([one.deleteRequestsBefore(at(-98_999)), second.deleteRequestsBefore(at(-98_999))]);
    const shown = ids(await one.loadBlocks('forget-a', ALL, 1000));
    assert.deepEqual(shown, ids([kept[1]!, kept[0]!]), 'what ended at the time is not before it');
    assert.deepEqual(await one.loadBlocks('forget-b', ALL, 1000), []);
    assert.equal((await one.loadBlocks('forget-c', ALL, 1000)).length, 1);
    assert.deepEqual(await one.loadRefusals('forget-b', '2026-11'), [refusals('forget-b', 7)]);
    assert.equal((await one.loadKeyUses('forget-b')).length, 1);
  });

  test('the oldest blocks of a tenant with too many bytes are deleted, and none of others', async () => {
    const one = await requests();
    const lines = new Uint8Array(10_000);
    const many = Array.from({ length: 130 }, (_, index) => block('trim-a', index, { lines }));
    await add(...many.slice(0, 100), ...many.slice(90), block('trim-b', 0, { lines: new Uint8Array(100_000) }));
    // A block counts 200 bytes more than its lines.
    await Promise.all([one.trimRequests(1_020_000), (await store.openAgain()).requests.trimRequests(1_020_000)]);
    const left = await one.loadBlocks('trim-a', ALL, 1000);
    assert.ok(left.length >= 90 && left.length <= 100, `${left.length} blocks`);
    assert.deepEqual(ids(left), ids(many.slice(-left.length).toReversed()));
    assert.equal((await one.loadBlocks('trim-b', ALL, 10)).length, 1);
    await one.deleteRequestsBefore(at(100));
    await add(...many.slice(0, 80));
    await one.trimRequests(1_020_000);
    assert.ok((await one.loadBlocks('trim-a', ALL, 1000)).length >= 90, 'what was deleted is not counted any more');
  });

  test('a removed tenant leaves no requests, refusals and uses of keys; others keep theirs', async () => {
    const [one, other] = [(await store.newTenant()).tenant, (await store.newTenant()).tenant];
    const log = await requests();
    for (const { teamId } of [one, other])
      await log.addRequests(
        [block(teamId, 1), block(teamId, 2)],
        [refusals(teamId, 1)],
        [use(teamId, `${teamId}-key`, at(1), 'x')],
      );
    await (await store.first()).tenants.deleteTenant(one);
    for (const [{ teamId }, left] of [
      [one, 0],
      [other, 1],
    ] as const) {
      assert.equal((await log.loadBlocks(teamId, ALL, 10)).length, left * 2);
      assert.equal((await log.loadRefusals(teamId, '2026-11')).length, left);
      assert.equal((await log.loadKeyUses(teamId)).length, left);
    }
  });

  test('the months with counts are listed with their sums, newest first, at most 36', async () => {
    const months = Array.from(
      { length: 40 },
      (_, index) => `${2023 + Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, '0')}`,
    );
    for (const day of ['01', '28'])
      await (
        await usage()
      ).addUsage(
        months.map((month, index) => ({
          teamId: 'months',
          day: `${month}-${day}`,
          operation: 'getOrder',
          calls: index + 1,
        })),
      );
    const listed = months.map((month, index) => ({ month, calls: 2 * (index + 1) })).toReversed();
    assert.deepEqual(await (await usage()).listMonths('months'), listed.slice(0, 36));
    assert.deepEqual(await (await usage()).listMonths('nobody'), []);
    const loaded = await (await usage()).loadMonth(months[1]!, ['months', 'nobody', 'nowhere']);
    assert.deepEqual(loaded, [{ teamId: 'months', calls: 4 }]);
  });
}
