/** Tests the limits of a tenant: none by default, an exact quota, and a rate with its burst. The tests set the time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Refusal } from '../../src/errors.ts';
import { Limits } from '../../src/tenant/calls.ts';
import type { Tenant } from '../../src/tenant/tenant-port.ts';

const tenant = (limits: Partial<Tenant> = {}): Tenant => ({
  teamId: 'acme',
  name: 'Acme',
  createdAt: '2026-01-01T00:00:00.000Z',
  storeId: 'acme.1',
  defaultStage: 'worksheet',
  strict: false,
  monthQuota: null,
  ownQuota: null,
  callsPerSecond: null,
  ...limits,
});
const NOON = new Date('2026-11-20T12:00:00.000Z');
const after = (ms: number): Date => new Date(NOON.getTime() + ms);

/** Returns a function that checks a call of a tenant with these limits. It returns the refusal, or undefined. */
function checksOf(given: Partial<Tenant>, limits = new Limits()) {
  const who = tenant(given);
  return async (now = NOON, total = 1): Promise<Refusal | undefined> => {
    try {
      await limits.checkLimits(who, { mayWrite: () => undefined, monthRequests: () => Promise.resolve(total) }, now);
      return undefined;
    } catch (fault) {
      assert.ok(fault instanceof Refusal);
      assert.equal(fault.httpStatus, 429);
      return fault;
    }
  };
}

test('without limits no call is refused or delayed', async () => {
  const limits = new Limits();
  const neverWritten = { mayWrite: () => undefined, monthRequests: () => new Promise<number>(() => undefined) };
  for (let call = 0; call < 1000; call++) await limits.checkLimits(tenant(), neverWritten, NOON);
});

test('QUOTA_EXCEEDED from the first call beyond the quota, with the time to the next month', async () => {
  const check = checksOf({ monthQuota: 100 });
  assert.equal(await check(NOON, 100), undefined);
  const refusal = await check(NOON, 101);
  assert.equal(refusal?.code, 'QUOTA_EXCEEDED');
  assert.equal(refusal.retryAfterSeconds, (10 * 24 + 12) * 3600);
  assert.match(refusal.message, /100 requests.*2026-12-01T00:00:00\.000Z/);
  const lastMoment = await check(new Date('2026-12-31T23:59:59.001Z'), 101);
  assert.equal(lastMoment?.retryAfterSeconds, 1);
  assert.match(lastMoment.message, /2027-01-01/);
});

test('the month of a quota is a UTC month in every time zone', async () => {
  const limited = { monthQuota: 100 };
  const zoneBefore = process.env['TZ'];
  try {
    for (const zone of ['UTC', 'America/Los_Angeles', 'Pacific/Auckland'])
      for (const [now, begins] of [
        ['2026-12-01T03:00:00.000Z', '2027-01-01T00:00:00.000Z'],
        ['2026-11-30T21:00:00.000Z', '2026-12-01T00:00:00.000Z'],
      ] as const) {
        process.env['TZ'] = zone;
        const seconds = (Date.parse(begins) - Date.parse(now)) / 1000;
        const refusal = await checksOf(limited)(new Date(now), 101);
        assert.ok(refusal?.message.includes(begins) && refusal.retryAfterSeconds === seconds, `${zone}: ${now}`);
        const { ratelimit } = new Limits().renderHeaders(tenant(limited), 1, new Date(now));
        assert.equal(ratelimit, `"quota";r=99;t=${seconds}`, zone);
      }
  } finally {
    if (zoneBefore === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zoneBefore;
  }
});

test('RATE_LIMITED after a burst of two seconds, and accepted again as time passes', async () => {
  const check = checksOf({ callsPerSecond: 5 });
  for (let call = 0; call < 10; call++) assert.equal(await check(), undefined, `call ${call}`);
  const refusal = await check();
  assert.equal(refusal?.code, 'RATE_LIMITED');
  assert.equal(refusal.retryAfterSeconds, 1);
  assert.ok(await check(after(199)));
  assert.equal(await check(after(200)), undefined);
  assert.ok(await check(after(200)));
  for (let call = 0; call < 10; call++)
    assert.equal(await check(after(60_000)), undefined, 'idle time fills two seconds, not more');
  assert.ok(await check(after(60_000)));
});

test('Retry-After of a slow rate is the time to the next accepted call', async () => {
  const check = checksOf({ callsPerSecond: 0.1 });
  assert.equal(await check(), undefined);
  const refusal = await check();
  assert.equal(refusal?.retryAfterSeconds, 10);
  assert.equal(await check(after(10_000)), undefined);
});

test('a tenant at its limit stays there with any number of others', async () => {
  const limits = new Limits();
  const check = checksOf({ storeId: 'slow', callsPerSecond: 0.01 }, limits);
  assert.equal(await check(), undefined);
  for (let other = 0; other < 20_000; other++)
    await checksOf({ storeId: `other.${other}`, callsPerSecond: 1 }, limits)(after(1000));
  assert.equal((await check(after(2000)))?.code, 'RATE_LIMITED');
});

test('one tenant at its limit does not slow another', async () => {
  const limits = new Limits();
  const busy = checksOf({ callsPerSecond: 1 }, limits);
  const calm = checksOf({ callsPerSecond: 1, storeId: 'other.1' }, limits);
  while (!(await busy())) continue;
  assert.equal(await calm(), undefined);
});

test('a clock that is set back neither blocks a tenant nor gives it calls', async () => {
  const check = checksOf({ callsPerSecond: 1 });
  while (!(await check())) continue;
  assert.ok(await check(after(-3_600_000)));
  assert.equal(await check(after(-3_599_000)), undefined);
});

test('in any pattern, no interval has more calls than its rate and the burst', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 80 }),
      async (perSecond, gaps) => {
        const check = checksOf({ callsPerSecond: perSecond });
        const taken: number[] = [];
        let ms = 0;
        for (const gap of gaps) {
          ms += gap;
          if (!(await check(after(ms)))) taken.push(ms);
        }
        for (const [first, from] of taken.entries())
          for (const [last, to] of taken.entries())
            if (last > first) assert.ok(last - first + 1 <= ((to - from) / 1000) * perSecond + perSecond * 2 + 1e-6);
      },
    ),
  );
});

test('a user at the limit stays there with any number of others, and later may call again', () => {
  const limits = new Limits();
  const look = (email: string, ms: number): boolean => {
    try {
      limits.checkUser(tenant(), email, NOON.getTime() + ms);
      return true;
    } catch (fault) {
      assert.ok(fault instanceof Refusal && fault.code === 'RATE_LIMITED' && fault.retryAfterSeconds === 1);
      return false;
    }
  };
  const busy = (ms: number): number => Array.from({ length: 300 }, () => look('busy', ms)).filter(Boolean).length;
  assert.equal(busy(0), 200);
  for (let user = 0; user < 30_000; user++) assert.ok(look(`user ${user}`, 0));
  assert.equal(busy(0), 0);
  assert.equal(busy(1000), 20);
  for (let user = 0; user < 60_000; user++) assert.ok(look(`user ${user}`, 5000));
  assert.equal(busy(5000), 80);
  assert.equal(busy(60_000), 200);
});
