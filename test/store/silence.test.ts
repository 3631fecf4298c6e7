/** Tests that a silent server is given up only after the process has listened to it for long enough. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextRound } from 'node:timers/promises';
import { ConnectionLost, openConnection } from '../../src/store/postgres/connection/connection.ts';
import { makeSilence } from '../../src/store/postgres/connection/silence.ts';
import { TestClock } from '../kit/clock.ts';
import { times } from '../kit/lists.ts';
import { postgresUrl } from '../kit/postgres.ts';

function listen() {
  const clock = new TestClock();
  let gaveUp = 0;
  const silence = makeSilence(clock, 1400, () => gaveUp++);
  const pass = async (ms: number): Promise<number> => {
    for (const _ of times(ms / 100, () => 0)) {
      clock.move(100);
      await nextRound();
    }
    return gaveUp;
  };
  return { clock, silence, pass };
}

test('a silence of 1400 ms is allowed, one step more is not, and any received byte restarts it', async () => {
  const { silence, pass } = listen();
  assert.equal(await pass(5000), 0, 'nothing is waited for');
  silence.restartSilence(true);
  assert.equal(await pass(1400), 0);
  silence.restartSilence(true);
  assert.equal(await pass(1400), 0);
  assert.equal(await pass(100), 1);
});

test('an hour in which the process could not listen counts as one step', async () => {
  const { clock, silence, pass } = listen();
  silence.restartSilence(true);
  clock.move(3_600_000);
  await nextRound();
  clock.hold(3_600_000);
  await nextRound();
  assert.equal(await pass(1200), 0);
  assert.equal(await pass(100), 1);
});

test('a wait that has ended, or whose connection is closed, is not given up', async () => {
  const { clock, silence, pass } = listen();
  silence.restartSilence(true);
  await pass(1400);
  clock.move(100);
  silence.restartSilence(false);
  await nextRound();
  assert.equal(await pass(2000), 0);
  silence.restartSilence(true);
  silence.close();
  assert.equal(await pass(2000), 0);
});

test('a statement of any length continues while its rows arrive, and is given up otherwise', async () => {
  const clock = new TestClock();
  const options = { name: 'storeroom test', session: {}, silenceMs: 1400, connectTimeoutMs: 1400, clock };
  for (const isHeard of [true, false]) {
    await using connection = await openConnection(options, postgresUrl());
    let rows = 0;
    const read = connection.queryEach(`SELECT repeat('x', 10000) FROM generate_series(1, 5000)`, [], () => {
      rows++;
      if (isHeard) connection.hear();
      clock.move(100);
    });
    if (isHeard) await read;
    else await assert.rejects(read, ConnectionLost);
    assert.equal(rows === 5000, isHeard);
  }
});
