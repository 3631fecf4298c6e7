/**
 * Tests the clock: due work runs once and in order, and closed timers never run. Also tests that what waits in vain for an
 * event ends, and says what it waited for.
 */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { every, systemClock, type Timer } from '../src/clock.ts';
import { TestClock } from './kit/clock.ts';
import { until, untilTold } from './kit/wait.ts';

test('work runs at its time, in the order of the times, and once', () => {
  const clock = new TestClock({ at: 0 });
  const ran: string[] = [];
  const note = (name: string) => (): void => void ran.push(`${name} at ${clock.now()}`);
  clock.after(20, note('later'));
  clock.after(10, note('sooner'));
  clock.move(9);
  assert.deepEqual(ran, []);
  clock.move(1);
  assert.deepEqual(ran, ['sooner at 10']);
  clock.move(1000);
  assert.deepEqual(ran, ['sooner at 10', 'later at 20']);
});

test('repeated work runs each time it is due, until it is closed, also by itself', () => {
  const clock = new TestClock({ at: 0 });
  const ran: number[] = [];
  const timer: Timer = every(clock, 100, () => {
    ran.push(clock.now());
    if (ran.length === 3) timer.close();
  });
  clock.move(1000);
  assert.deepEqual(ran, [100, 200, 300]);
  assert.equal(clock.waiting, 0);
});

test('the real clock runs work that is due, and no work that is closed', async () => {
  const ran: string[] = [];
  systemClock.after(1, () => void ran.push('closed')).close();
  systemClock.after(1, () => void ran.push('due'));
  await systemClock.sleep(2);
  assert.deepEqual(ran, ['due']);
});

test('a wait in vain ends after its time limit and says what it waited for', async () => {
  const isSo = () => Math.abs(1) > 2;
  const told = new EventEmitter();
  await assert.rejects(until(isSo, undefined, 1), /did not happen within 0\.001 s: .*Math\.abs/);
  await assert.rejects(untilTold(told, 'more', isSo, 'a word', 1), /did not happen within 0\.001 s: a word/);
  const words: string[] = [];
  const done = untilTold(told, 'more', () => words.length > 1);
  for (const word of ['a', 'b']) {
    words.push(word);
    told.emit('more');
  }
  await done;
});
