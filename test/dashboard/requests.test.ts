/**
 * The request log in the dashboard: each call found by the ID of its answer, filters and pages, what is taken out of a request before it is kept, and what
 * is not there: calls that were not let in, those of a tenant before, and those too old.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import type { Answer } from '../kit/service.ts';
import { openScene, openTenant, runSql } from './scene.ts';
import { Visitor } from './visitor.ts';

const DAY_MS = 86_400_000;
const SECRET = `sr_sk_${'Ab3'.repeat(16)}Z`;

interface Logged {
  requestID: string;
  at: string;
  operation: string;
  method: string;
  path: string;
  httpStatus: number;
  milliseconds: number;
  client: string;
  apiID: string | null;
  explorerUser: string | null;
  code: string | null;
  message: string | null;
}
const service = await openScene();
const shared = await openTenant(service);

const idOf = ({ headers }: Pick<Answer, 'headers'>): string => headers.get('x-request-id')!;
const searchOf = async (
  visitor: Visitor,
  query: Record<string, string> = {},
): Promise<{ requests: Logged[]; next: string | null; searchedTo: string; keptDays: number }> => {
  const { status, body, text } = await visitor.get('/requests', query);
  assert.equal(status, 200, text);
  return body as never;
};
const single = (visitor: Visitor, requestID: string) => visitor.get('/requests/single', { requestID });

suite('a request', () => {
  test('is found by the X-Request-Id of its answer, at once, whole', async () => {
    const { owner, keys } = shared;
    const began = new Date().toISOString();
    const good = await service.call(keys, 'PUT', '/orders/create', {
      body: { NOTES: 'for the log' },
      headers: { 'x-forwarded-for': '203.0.113.9' },
    });
    const { status, body } = await single(owner, idOf(good));
    assert.equal(status, 200);
    const { at, milliseconds, ...rest } = body as Logged;
    assert.ok(at >= began && at <= new Date().toISOString() && milliseconds >= 0);
    assert.deepEqual(rest, {
      requestID: idOf(good),
      operation: 'createOrder',
      method: 'PUT',
      path: '/tenant/api/pims/v1/orders/create',
      httpStatus: 200,
      client: '203.0.113.9',
      apiID: keys.apiID,
      explorerUser: null,
      code: null,
      message: null,
      remedy: null,
      field: null,
      query: {},
      body: '{"NOTES":"for the log"}',
    });
  });

  test('of the explorer is there as its user’s, without a key', async () => {
    const { owner } = shared;
    const { headers } = await owner.get('/explorer/orders/single', { orderNum: 'nothing' });
    const { body } = await single(owner, headers.get('x-request-id')!);
    assert.deepEqual(
      [body.explorerUser, body.apiID, body.operation, body.httpStatus, body.query],
      [owner.email, null, 'getOrder', 404, { orderNum: 'nothing' }],
    );
    const looked = await owner.get('/records/orders/single', { orderNum: 'nothing' });
    assert.equal(
      (await single(owner, looked.headers.get('x-request-id')!)).status,
      404,
      'records looked at are not in the log',
    );
  });

  test('that was refused has code, field and message as they were answered', async () => {
    const { owner, keys } = shared;
    const refused = [
      await service.call(keys, 'PUT', '/orders/create', { body: { ORDER_DATE: 'tomorrow' } }),
      await service.call(keys, 'POST', '/orders/query', { body: [{ field: 'COLOUR', value: 'red' }] }),
      await service.call(keys, 'GET', '/orders/single', { query: { orderNum: 'nothing' } }),
      await service.call(keys, 'GET', '/orders/single'),
      await service.call(keys, 'POST', '/orders/query', { body: '{' }),
      await service.call(keys, 'POST', '/orders/query', { body: '[]', headers: { 'content-type': 'text/plain' } }),
    ];
    for (const answer of refused) {
      const { body } = await single(owner, idOf(answer));
      const { code, message, field = null } = answer.body as { code: string; message: string; field?: string };
      assert.deepEqual([body.httpStatus, body.code, body.message, body.field], [answer.status, code, message, field]);
      assert.ok(body.remedy, code);
    }
  });

  test('has no secret in it: not in its query, its body, its filters, its names or its message', async () => {
    const { owner, keys } = shared;
    const { teamID, apiID, apiSecret } = keys;
    const answers = [
      await service.request('GET', '/orders/single', { query: { teamID, apiID, apiSecret, orderNum: apiSecret } }),
      await service.request('PUT', '/orders/create', {
        body: { teamID, apiID, apiSecret, NOTES: `my key is ${apiSecret}` },
      }),
      await service.call(keys, 'POST', '/orders/query', { body: [{ field: 'NOTES', value: apiSecret }, { field: apiSecret, value: SECRET }] }), // prettier-ignore
      await service.call(keys, 'PUT', '/orders/create', { body: { [apiSecret]: 'x' } }),
      await service.call(keys, 'GET', '/orders/single', { query: { [apiSecret]: 'x', orderNum: '1' } }),
      await owner.send(
        'POST',
        '/dashboard/api/explorer/orders/query',
        JSON.stringify([{ field: apiSecret, value: 'x' }]),
      ),
      await owner.send(
        'GET',
        `/dashboard/api/explorer/orders/single?apiID=${apiID}&apiSecret=${apiSecret}&orderNum=${apiSecret}`,
      ),
    ];
    for (const answer of answers) {
      const { status, text } = await single(owner, idOf(answer));
      assert.equal(status, 200, text);
      assert.ok(!text.includes(apiSecret.slice(6)) && !text.includes(SECRET.slice(6)), text);
    }
    const { text } = await owner.get('/requests');
    assert.ok(!text.includes(apiSecret.slice(6)));
  });

  test('that was not let in is in no log, whatever teamID it named', async () => {
    const { owner, keys, teamID } = shared;
    const bad = [
      await service.call({ ...keys, apiSecret: SECRET }, 'POST', '/orders/query', { body: [] }),
      await service.request('POST', '/orders/query', { query: { teamID }, body: [] }),
      await service.request('POST', '/orders/query', { body: [] }),
    ];
    for (const answer of bad) assert.equal((await single(owner, idOf(answer))).status, 404);
    assert.deepEqual((await searchOf(owner, { status: '401' })).requests, []);
  });

  test('of another tenant is not found, though its ID is known', async () => {
    const [one, two] = [shared, await openTenant(service)];
    const answer = await service.call(one.keys, 'PUT', '/orders/create', { body: { NOTES: 'private' } });
    assert.equal((await single(one.owner, idOf(answer))).status, 200);
    assert.equal((await single(two.owner, idOf(answer))).status, 404);
  });

  test('of a tenant that was removed is gone when it is made anew', async () => {
    const { owner, keys, teamID } = await openTenant(service);
    const answer = await service.call(keys, 'PUT', '/orders/create', { body: { NOTES: 'before' } });
    assert.equal((await single(owner, idOf(answer))).status, 200);
    assert.equal((await service.command('tenant', 'remove', teamID, '--yes')).code, 0);
    await service.makeTenant(teamID);
    const anew = await Visitor.make(service, teamID, 'owner');
    assert.deepEqual((await searchOf(anew)).requests, []);
    assert.equal((await single(anew, idOf(answer))).status, 404);
    const { total, refused, months } = (await anew.get('/usage')).body as {
      total: number;
      refused: number;
      months: object[];
    };
    assert.deepEqual([total, refused, months], [0, 0, []]);
    assert.ok(
      (await anew.get('/audit')).body.records.every(
        ({ actor }: { actor: string }) => actor === 'command line' || actor === anew.email,
      ),
    );
  });
});

suite('the log', () => {
  test('is searched by status, class, operation and time', async () => {
    const { owner, keys } = shared;
    const from = new Date().toISOString();
    await service.call(keys, 'GET', '/orders/single', { query: { orderNum: 'nothing' } });
    await service.call(keys, 'POST', '/customers/query', { body: [{ field: 'COLOUR', value: 'x' }] });
    await service.call(keys, 'POST', '/customers/query', { body: [] });
    const to = new Date(Date.now() + 1).toISOString();
    const found = async (query: Record<string, string>): Promise<string[]> =>
      (await searchOf(owner, { from, to, ...query })).requests.map(
        ({ operation, httpStatus }) => `${operation} ${httpStatus}`,
      );
    const all = ['queryCustomers 200', 'queryCustomers 400', 'getOrder 404'];
    assert.deepEqual(await found({}), all);
    assert.deepEqual(await found({ status: '404' }), all.slice(2));
    assert.deepEqual(await found({ status: '4xx' }), all.slice(1));
    assert.deepEqual(await found({ status: '2xx', operation: 'queryCustomers' }), all.slice(0, 1));
    assert.deepEqual(await found({ operation: 'getOrder' }), all.slice(2));
    assert.deepEqual(await found({ operation: 'nothing' }), []);
    assert.deepEqual(await found({ from: to, to: '' }), []);
    assert.ok((await searchOf(owner, { to: from })).requests.every(({ at }) => at < from));
    for (const query of [{ status: '6xx' }, { status: 'x' }, { from: 'yesterday' }, { to: '2026-02-30T00:00:00Z' }, { cursor: 'x' }, { teamID: 'shop1' }]) assert.equal((await owner.get('/requests', query as Record<string, string>)).status, 400, JSON.stringify(query)); // prettier-ignore
  });

  test('is paged through by cursor: each of 120 requests once, newest first, whatever comes in meanwhile', async () => {
    const { owner, keys } = shared;
    const ids: string[] = [];
    for (let round = 0; round < 12; round++) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => service.call(keys, 'POST', '/inventory/query', { body: [] })),
      );
      ids.push(...answers.map(idOf));
    }
    const seen: Logged[] = [];
    let pages = 0;
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const page = await searchOf(owner, { operation: 'queryInventoryItems', ...(cursor !== '' && { cursor }) });
      assert.ok(page.requests.length <= 50);
      seen.push(...page.requests);
      cursor = page.next;
      await service.call(keys, 'POST', '/inventory/query', { body: [] });
    }
    assert.deepEqual(seen.map(({ requestID }) => requestID).toSorted(), ids.toSorted());
    assert.deepEqual(seen.map(({ at }) => at), seen.map(({ at }) => at).toSorted().toReversed()); // prettier-ignore
    assert.equal(pages, 3);
  });

  test('goes back the days that are told and no further', async () => {
    const { owner, keys, teamID } = await openTenant(service);
    const answer = await service.call(keys, 'PUT', '/orders/create', { body: { NOTES: 'old' } });
    const { keptDays } = await searchOf(owner);
    assert.equal(keptDays, 30);
    const ageTo = async (days: number): Promise<void> => {
      const at = new Date(Date.now() - days * DAY_MS).toISOString();
      const rows = await runSql(service, `SELECT * FROM @REQUESTS WHERE "TEAM_ID" = '${teamID}'`, 'requests.db');
      for (const { BLOCK_ID, LINES } of rows) {
        const bytes = Buffer.from(LINES as Uint8Array);
        const aged = (bytes[0] === 0x5b ? bytes : zstdDecompressSync(bytes))
          .toString()
          .replaceAll(/^\["(\w+)","[^"]+"/gm, `["$1","${at}"`);
        const hex = Buffer.from(aged).toString('hex');
        const lines = service.databaseUrl === undefined ? `x'${hex}'` : `decode('${hex}', 'hex')`;
        const set = `"BLOCK_ID" = '${at} ${(BLOCK_ID as string).split(' ')[1]}', "FIRST_AT" = '${at}', "LINES" = ${lines}`;
        await runSql(
          service,
          `UPDATE @REQUESTS SET ${set} WHERE "TEAM_ID" = '${teamID}' AND "BLOCK_ID" = '${BLOCK_ID as string}'`,
          'requests.db',
        );
      }
    };
    await ageTo(29.9);
    assert.ok((await searchOf(owner)).requests.some(({ requestID }) => requestID === idOf(answer)));
    assert.equal((await single(owner, idOf(answer))).status, 200);
    await ageTo(30.1);
    assert.deepEqual((await searchOf(owner)).requests, []);
    assert.deepEqual((await searchOf(owner, { from: '2020-01-01T00:00:00Z' })).requests, []);
    assert.equal((await single(owner, idOf(answer))).status, 404);
  });
});
