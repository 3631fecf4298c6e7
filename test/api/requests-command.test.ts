/** Tests `storeroom requests`, which shows what a caller sent, beside the service that logs it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedService, type CommandResult } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

interface Logged {
  requestID: string;
  operation: string;
  httpStatus: number;
  code: string | null;
  keyName: string | null;
}
interface Found {
  teamID: string;
  requests: Logged[];
  next: string | null;
}

const service = await sharedService();
const ask = (...words: string[]): Promise<CommandResult> => service.command('requests', ...words);
const list = async (...words: string[]): Promise<Found> => (await ask(...words, '--json')).json() as Found;

/** Waits until all calls of a tenant are in the log, which is written a moment after the answers. */
async function logged(teamID: string, count: number): Promise<void> {
  await until(async () => {
    const first = await list(teamID);
    const second = first.next === null ? [] : (await list(teamID, '--cursor', first.next)).requests;
    return first.requests.length + second.length === count;
  });
}

test('the command lists requests of a tenant, newest first, and finds them by status, operation and time', async () => {
  await service.empty();
  const acme = await service.makeTenant('acme');
  const other = await service.makeTenant('other');
  await service.call(acme, 'PUT', '/customers/create', { body: { CUSTOMER_CODE: 'A', BCITY: 'Ulm' } });
  await service.call(acme, 'GET', '/orders/single', { query: { orderNum: '77' } });
  await service.call(other, 'GET', '/orders/single', { query: { orderNum: '78' } });
  await logged('acme', 2);

  const { teamID, requests, next } = await list('acme');
  assert.deepEqual(
    [teamID, next, requests.map(({ operation, httpStatus, code, keyName }) => [operation, httpStatus, code, keyName])],
    [
      'acme',
      null,
      [
        ['getOrder', 404, 'NOT_FOUND', 'default'],
        ['createCustomer', 200, null, 'default'],
      ],
    ],
  );
  const operations = async (...words: string[]): Promise<string[]> =>
    (await list('acme', ...words)).requests.map(({ operation }) => operation);
  assert.deepEqual(await operations('--status', '4xx'), ['getOrder']);
  assert.deepEqual(await operations('--operation', 'createCustomer'), ['createCustomer']);
  assert.deepEqual(await operations('--code', 'NOT_FOUND', '--key', acme.apiID), ['getOrder']);
  assert.deepEqual(await operations('--order', '77'), ['getOrder']);
  assert.deepEqual(await operations('--order', '78'), []);
  assert.deepEqual(await operations('--to', service.timeAt(-86_400_000)), []);

  const { stdout } = await ask('acme');
  assert.match(stdout, /^AT +STATUS +CODE +OPERATION +MS +CALLER +CLIENT +REQUEST ID\n\S+ +404 +NOT_FOUND +getOrder/);

  const { requestID } = requests[1]!;
  const whole = await ask('acme', '--id', requestID, '--json');
  const { request } = whole.json() as { request: Logged & { body: string } };
  assert.deepEqual([request.requestID, JSON.parse(request.body)], [requestID, { CUSTOMER_CODE: 'A', BCITY: 'Ulm' }]);
  assert.ok(!`${whole.stdout}${stdout}`.includes(acme.apiSecret));
  assert.match((await ask('acme', '--id', requestID)).stdout, /^operation +createCustomer$/m);
  assert.equal((await ask('other', '--id', requestID)).code, 1);
});

test('the command shows 50 requests, and the next ones with the cursor that it prints', async () => {
  await service.empty();
  const acme = await service.makeTenant('acme');
  for (let n = 0; n < 60; n++) await service.call(acme, 'GET', '/usage');
  await logged('acme', 60);
  const first = await list('acme');
  const [, cursor = ''] = /--cursor (\S+)\n$/.exec((await ask('acme')).stdout) ?? [];
  assert.equal(cursor, first.next);
  const second = await list('acme', '--cursor', cursor);
  assert.deepEqual([first.requests.length, second.requests.length, second.next], [50, 10, null]);
  assert.equal(new Set([...first.requests, ...second.requests].map(({ requestID }) => requestID)).size, 60);
});

test('the command says what is wrong with a status, a time, a request ID and a team', async () => {
  await service.empty();
  await service.makeTenant('acme');
  const refuse = async (...words: string[]): Promise<string> => {
    const { code, stderr } = await ask(...words);
    assert.equal(code, 1);
    return stderr;
  };
  assert.match(await refuse('acme', '--status', 'bad'), /status must be a status such as 404/);
  assert.match(await refuse('acme', '--from', 'noon'), /from must be a UTC time such as/);
  assert.match(await refuse('acme', '--id', 'a-1'), /No request of the last 30 days has this ID\./);
  assert.match(await refuse('nobody'), /There is no tenant 'nobody'/);
});
