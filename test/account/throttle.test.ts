/** Tests the waits after failures, the attempts per address and minute, clocks that jump, many addresses, and lines. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { checkFailures, makeThrottle, networkOf, nextTry } from '../../src/account/attempts.ts';
import { makeLine } from '../../src/account/line.ts';
import { Refusal } from '../../src/errors.ts';

const NOW = Date.parse('2026-11-20T09:30:00.000Z');

/** Returns the seconds to wait: null if an attempt is allowed, Infinity if waiting does not help. */
function waitOf(attempt: () => void): number | null {
  try {
    attempt();
  } catch (refusal) {
    assert.ok(refusal instanceof Refusal && refusal.code === 'TOO_MANY_ATTEMPTS', String(refusal));
    return refusal.retryAfterSeconds ?? Infinity;
  }
  return null;
}

const expectWait = (seconds: number | null, attempt: () => void): void => assert.equal(waitOf(attempt), seconds);

suite('accounts', () => {
  test('the wait is zero for five failures, then doubles from 1 s to 15 minutes', () => {
    const waits = Array.from({ length: 101 }, (_, failures) => {
      const at = nextTry(failures, NOW);
      return at === '' ? 0 : (Date.parse(at) - NOW) / 1000;
    });
    assert.deepEqual(waits.slice(0, 18), [0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
    assert.ok(waits.slice(16).every((wait) => wait === 900));
  });

  test('429 while the wait lasts, with its remaining time', () => {
    const nextTryAt = nextTry(10, NOW);
    expectWait(16, () => checkFailures({ failures: 10, nextTryAt }, NOW));
    expectWait(1, () => checkFailures({ failures: 10, nextTryAt }, NOW + 15_001));
    expectWait(null, () => checkFailures({ failures: 10, nextTryAt }, NOW + 16_000));
    expectWait(900, () => checkFailures({ failures: 30, nextTryAt: nextTry(30, NOW) }, NOW));
  });

  test('429 after a hundred failures no attempt is checked, and the message says who can help', () => {
    expectWait(null, () => checkFailures({ failures: 99, nextTryAt: '' }, NOW));
    expectWait(Infinity, () => checkFailures({ failures: 100, nextTryAt: '' }, NOW));
    assert.throws(
      () => checkFailures({ failures: 100, nextTryAt: '' }, NOW),
      /Ask an owner of the tenant or the operator for a new link/,
    );
  });

  test('a clock that is set back locks no user out', () => {
    expectWait(null, () => checkFailures({ failures: 30, nextTryAt: nextTry(30, NOW) }, NOW - 86_400_000));
  });
});

suite('addresses', () => {
  test('429 after twenty attempts in a minute, for that address alone, until the minute is over', () => {
    const throttle = makeThrottle('from this address');
    for (let count = 0; count < 20; count++) throttle('192.0.2.1', NOW + count * 1000);
    expectWait(40, () => throttle('192.0.2.1', NOW + 20_000));
    expectWait(null, () => throttle('192.0.2.2', NOW + 20_000));
    expectWait(null, () => throttle('192.0.2.1', NOW + 60_000));
  });

  test('a clock that is set back locks no address out', () => {
    const throttle = makeThrottle('from this address');
    for (let count = 0; count < 20; count++) throttle('192.0.2.1', NOW);
    expectWait(null, () => throttle('192.0.2.1', NOW - 3_600_000));
  });

  test('an IPv6 network counts as one address, an IPv4 address as itself in each notation', () => {
    const forms: Record<string, string> = {
      '192.0.2.1': '192.0.2.1',
      '::ffff:192.0.2.1': '192.0.2.1',
      '::FFFF:c000:201': '192.0.2.1',
      'no address': 'no address',
      '2001:db8:0:1:aaaa:bbbb:cccc:dddd': '2001:db8:0:1',
      '2001:0DB8:0000:0001::1': '2001:db8:0:1',
      '2001:db8::1': '2001:db8:0:0',
      '2001:db8::': '2001:db8:0:0',
      '2001::2:3:4:5:6:7': '2001:0:2:3',
      '1:2:3:4:5:6:7::': '1:2:3:4',
      '::1': '0:0:0:0',
      '::': '0:0:0:0',
      'fe80::1%eth0': 'fe80:0:0:0',
      '': '',
    };
    for (const [client, network] of Object.entries(forms)) assert.equal(networkOf(client), network, client);
  });

  test('the wide network has 24 bits of an IPv4 address and 48 bits of an IPv6 address', () => {
    const forms: Record<string, string> = {
      '192.0.2.1': '192.0.2',
      '::ffff:192.0.2.1': '192.0.2',
      '2001:db8:7:1:aaaa:bbbb:cccc:dddd': '2001:db8:7',
      '2001:db8::1': '2001:db8:0',
      '': '',
    };
    for (const [client, network] of Object.entries(forms)) assert.equal(networkOf(client, 3), network, client);
  });

  test('ten thousand addresses are kept, and the oldest are dropped first', () => {
    const throttle = makeThrottle('from this address');
    const address = (number: number): string => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
    for (const number of [0, 1]) for (let count = 0; count < 20; count++) throttle(address(number), NOW);
    for (let number = 2; number <= 10_000; number++) throttle(address(number), NOW);
    expectWait(60, () => throttle(address(1), NOW));
    expectWait(null, () => throttle(address(0), NOW));
  });

  test('an address that tries again in another minute is dropped last, not first', () => {
    const throttle = makeThrottle('from this address');
    const address = (number: number): string => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
    for (let number = 0; number < 10_000; number++) throttle(address(number), NOW);
    for (let count = 0; count < 20; count++) throttle(address(0), NOW + 60_000);
    throttle(address(10_000), NOW + 60_000);
    expectWait(60, () => throttle(address(0), NOW + 60_000));
  });
});

suite('a line', () => {
  /** Lets callers with these attempts wait for one that holds the line. Returns the outcomes, and the order of turns. */
  async function waitInLine(attempts: readonly number[]): Promise<{ codes: string[]; order: string[] }> {
    const line = makeLine();
    const { promise, resolve } = Promise.withResolvers<void>();
    const order: string[] = [];
    const first = line(0, () => promise);
    const all = attempts.map((count, place) => line(count, async () => void order.push(`${count} ${place}`)));
    resolve();
    const outcomes = await Promise.allSettled([first, ...all]);
    const codes = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 'ok' : (outcome.reason as Refusal).code));
    return { codes: codes.slice(1), order };
  }

  test('the address with the fewest attempts goes first, and the newest attempt among equals', async () => {
    const { order } = await waitInLine([3, 1, 2, 1, 9]);
    assert.deepEqual(order, ['1 3', '1 1', '2 2', '3 0', '9 4']);
  });

  test('503 fifty attempts wait; beyond that, the one of the address with the most attempts is refused', async () => {
    const strangers = Array.from({ length: 50 }, (_, place) => (place === 7 ? 20 : 10));
    const { codes, order } = await waitInLine([...strangers, 1, 30]);
    const refused = codes.flatMap((code, place) => (code === 'ok' ? [] : [`${code} ${place}`]));
    assert.deepEqual(refused, ['SERVICE_BUSY 7', 'SERVICE_BUSY 51']);
    assert.equal(order[0], '1 50');
  });

  test('a turn that fails makes room for the next', async () => {
    const line = makeLine();
    await assert.rejects(
      line(1, () => Promise.reject(new Error('failed'))),
      /failed/,
    );
    assert.equal(await line(1, async () => 'next'), 'next');
  });
});
