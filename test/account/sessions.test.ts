/** Tests when a session has ended, also if the clock jumps, and the form of a token. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { endedBefore, endOfSession, hashToken, isLive, isToTouch, newToken } from '../../src/account/users.ts';

const NOW = Date.parse('2026-11-20T09:30:00.000Z');
const MINUTE = 60_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const session = (createdMs: number, seenMs: number) => ({ createdAt: at(createdMs), seenAt: at(seenMs) });

suite('sessions', () => {
  test('one ends 30 minutes after it was last seen', () => {
    assert.equal(isLive(session(0, 0), NOW + 30 * MINUTE - 1), true);
    assert.equal(isLive(session(0, 0), NOW + 30 * MINUTE), false);
  });

  test('one ends 12 hours after it was opened, even if it is used all the time', () => {
    assert.equal(isLive(session(0, 719 * MINUTE), NOW + 720 * MINUTE - 1), true);
    assert.equal(isLive(session(0, 719 * MINUTE), NOW + 720 * MINUTE), false);
    assert.equal(endOfSession(session(0, 0)), at(720 * MINUTE));
  });

  test('a clock that jumps back ends a session instead of lengthening it; nodes may be a minute apart', () => {
    assert.equal(isLive(session(0, 0), NOW - MINUTE), true);
    assert.equal(isLive(session(0, 0), NOW - MINUTE - 1), false);
    assert.equal(isLive(session(-5 * MINUTE, 0), NOW - 2 * MINUTE), false);
  });

  test('no jump of the clock lets a session outlive its 12 hours by more than a minute', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -MINUTE * 2, max: MINUTE * 40 }), { maxLength: 60 }), (jumps) => {
        let clockMs = NOW;
        let seenMs = 0;
        for (const jump of jumps) {
          clockMs += jump;
          if (!isLive(session(0, seenMs), clockMs)) return;
          if (isToTouch(session(0, seenMs), clockMs)) seenMs = clockMs - NOW;
          assert.ok(clockMs - NOW < 720 * MINUTE && clockMs - NOW >= -MINUTE && seenMs >= 0);
        }
      }),
    );
  });

  test('the last use is saved at most once a minute, and never moves back', () => {
    assert.equal(isToTouch(session(0, 0), NOW + MINUTE - 1), false);
    assert.equal(isToTouch(session(0, 0), NOW + MINUTE), true);
    assert.equal(isToTouch(session(0, 0), NOW - MINUTE), false);
  });

  test('only sessions that have ended are deleted', () => {
    const { createdBefore, seenBefore } = endedBefore(NOW);
    assert.equal(isLive({ createdAt: createdBefore, seenAt: at(0) }, NOW), false);
    assert.equal(isLive({ createdAt: at(-MINUTE), seenAt: seenBefore }, NOW), false);
  });

  test('a session is not valid at a time that cannot be parsed', () => {
    for (const createdAt of ['', 'x']) assert.equal(isLive({ createdAt, seenAt: at(0) }, NOW), false);
  });
});

test('tokens are 43 characters of 256 bits, kept as a hash; any other text has no hash', () => {
  const tokens = new Set(Array.from({ length: 1000 }, newToken));
  assert.equal(tokens.size, 1000);
  for (const token of tokens) {
    assert.match(token, /^[A-Za-z0-9_-]{43}$/);
    assert.equal(hashToken(token)?.length, 32);
  }
  for (const text of ['', 'x', `${newToken()}=`, ` ${newToken()}`, `${newToken()}\n`, newToken().slice(1)])
    assert.equal(hashToken(text), undefined);
});
