/** Tests turns for costly work: how much runs, whose turn is next, and the end of work that no one waits for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextRound } from 'node:timers/promises';
import { Refusal } from '../../src/errors.ts';
import { Turns, type Turn } from '../../src/tenant/turns.ts';
import { times } from '../kit/lists.ts';
import { TestClock } from '../kit/clock.ts';

const PRESENT = new AbortController().signal;
/** Interval at which the turns check whether callers have left. */
const LOOK_MS = 25;

/** Turns whose work ends when the test ends it. */
class HeldWork {
  readonly clock = new TestClock();
  readonly turns: Turns;
  /** Names of the work, in the order in which it began. */
  readonly begun: string[] = [];
  readonly #ends = new Map<string, (outcome: string | Refusal | Error) => void>();

  constructor(running: number, tenantRunning: number, tenantWaiting: number) {
    this.turns = new Turns({ running, tenantRunning, tenantWaiting }, this.clock);
  }

  /** Runs work; `a1` is work of tenant `a`. Returns its result, its refusal's code, or its fault's message. */
  async run(name: string, signal = PRESENT, canEnd = false): Promise<string> {
    const work = async (turn: Turn): Promise<string | Refusal> => {
      this.begun.push(name);
      const { promise, resolve } = Promise.withResolvers<string | Refusal | Error>();
      this.#ends.set(name, resolve);
      if (canEnd) turn.end = () => resolve(new Error('it was ended'));
      const outcome = await promise;
      if (outcome instanceof Error && !(outcome instanceof Refusal)) throw outcome;
      return outcome;
    };
    const outcome = await this.turns.runInTurn(name[0]!, () => signal, work).catch((fault: Error) => fault.message);
    return outcome instanceof Refusal ? outcome.code : outcome;
  }

  async end(name: string, outcome: string | Refusal | Error = `${name} is done`): Promise<void> {
    this.#ends.get(name)!(outcome);
    for (let turn = 0; turn < 3; turn++) await nextRound();
  }

  /** Moves the clock, and waits until the work whose time is over has ended. */
  async pass(ms: number): Promise<void> {
    this.clock.move(ms);
    for (let turn = 0; turn < 3; turn++) await nextRound();
  }
}

test('running work is limited per tenant and in total; an idle tenant has one more place', async () => {
  const work = new HeldWork(3, 2, 9);
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'd1']) void work.run(name);
  assert.deepEqual(work.begun, ['a1', 'a2', 'b1', 'c1']);
  await work.end('a1');
  assert.deepEqual(work.begun.slice(4), ['d1'], 'the one more place is not for those with something running');
  await work.end('c1');
  assert.deepEqual(work.begun.slice(5), []);
  await work.end('b1');
  assert.deepEqual(work.begun.slice(5).toSorted(), ['a3', 'b2'], 'a place, and the one more for b');
});

test('turns alternate between the tenants, and are in order within one', async () => {
  const work = new HeldWork(1, 1, 9);
  const names = ['a1', 'b1', 'a2', 'a3', 'a4', 'b2', 'b3', 'c1'];
  const outcomes = Promise.all(names.map((name) => work.run(name)));
  for (let index = 0; index < names.length; index++) await work.end(work.begun[index]!);
  assert.deepEqual(
    await outcomes,
    names.map((name) => `${name} is done`),
  );
  for (const tenant of 'abc')
    assert.deepEqual(
      work.begun.filter((name) => name[0] === tenant),
      names.filter((name) => name[0] === tenant),
    );
  assert.ok(work.begun.indexOf('c1') < work.begun.indexOf('a3'), `c waits for one turn of each: ${work.begun.join()}`);
});

test('TOO_MANY_QUERIES beyond the waiting places, for that tenant alone; a caller that leaves makes room', async () => {
  const work = new HeldWork(1, 1, 2);
  const caller = new AbortController();
  void work.run('a1');
  const gone = work.run('a2', caller.signal);
  void work.run('a3');
  assert.equal(await work.run('a4'), 'TOO_MANY_QUERIES');
  void work.run('b1');
  const refusal = await work.turns.runInTurn(
    'a',
    () => PRESENT,
    () => Promise.resolve(1),
  );
  assert.ok(refusal instanceof Refusal);
  assert.equal(refusal.retryAfterSeconds, 1);
  assert.match(refusal.message, /limits: 1 running, 2 waiting/);
  caller.abort();
  const last = work.run('a5');
  assert.equal(await gone, 'QUERY_TOO_COSTLY');
  for (const name of ['a1', 'b1', 'a3', 'a5']) await work.end(name);
  assert.equal(await last, 'a5 is done');
  assert.ok(!work.begun.includes('a2'));
});

test('waiting or running work ends when its caller leaves, and its place is free', async () => {
  const work = new HeldWork(1, 1, 9);
  const caller = new AbortController();
  const running = work.run('a1', caller.signal, true);
  const waiting = work.run('a2', caller.signal);
  const other = work.run('a3');
  const ended: string[] = [];
  void waiting.then(() => ended.push('a2'));
  void running.then(() => ended.push('a1'));
  caller.abort();
  await work.pass(LOOK_MS - 1);
  assert.deepEqual(ended, []);
  await work.pass(1);
  assert.deepEqual(ended, ['a2'], 'the first look ends what waits');
  await work.pass(LOOK_MS - 1);
  assert.deepEqual(ended, ['a2']);
  await work.pass(1);
  assert.deepEqual(ended, ['a2', 'a1'], 'the second ends what has been running since the first');
  assert.deepEqual(await Promise.all([running, waiting]), ['QUERY_TOO_COSTLY', 'QUERY_TOO_COSTLY']);
  assert.deepEqual(work.begun, ['a1', 'a3']);
  await work.end('a3');
  assert.equal(await other, 'a3 is done');
});

test('a caller that left is skipped when a place is free, and work that cannot be ended continues', async () => {
  const work = new HeldWork(1, 1, 9);
  const caller = new AbortController();
  const first = work.run('a1', caller.signal);
  const gone = times(3, (index) => work.run(`a${index + 2}`, caller.signal));
  const last = work.run('a5');
  caller.abort();
  await work.end('a1');
  assert.deepEqual(work.begun, ['a1', 'a5']);
  assert.deepEqual(await Promise.all([first, ...gone]), ['a1 is done', ...times(3, () => 'QUERY_TOO_COSTLY')]);
  await work.end('a5');
  assert.equal(await last, 'a5 is done');
});

test('a fault or a refusal of the work reaches its caller, and its place is free', async () => {
  const work = new HeldWork(1, 1, 9);
  const outcomes = [work.run('a1'), work.run('a2'), work.run('a3')];
  await work.end('a1', new Error('disk on fire'));
  await work.end('a2', new Refusal('SERVICE_BUSY'));
  await work.end('a3');
  assert.deepEqual(await Promise.all(outcomes), ['disk on fire', 'SERVICE_BUSY', 'a3 is done']);
});

test('waiting work of a caller that left is refused meanwhile; work of present callers continues', async () => {
  const work = new HeldWork(1, 1, 9);
  const caller = new AbortController();
  const first = work.run('a1', PRESENT, true);
  let told = '';
  void work.run('a2', caller.signal).then((outcome) => (told = outcome));
  caller.abort();
  await work.pass(LOOK_MS);
  assert.equal(told, 'QUERY_TOO_COSTLY');
  await work.pass(100 * LOOK_MS);
  await work.end('a1');
  assert.equal(await first, 'a1 is done');
});

test('the running and waiting work of a tenant is known as long as it lasts', async () => {
  const work = new HeldWork(1, 1, 9);
  const caller = new AbortController();
  const outcomes = [work.run('a1', caller.signal), work.run('b1'), work.run('c1')];
  const roomy = new HeldWork(9, 1, 9);
  const alone = [roomy.run('a1')];
  caller.abort();
  for (const { clock } of [work, roomy]) clock.move(100 * LOOK_MS);
  outcomes.push(work.run('a2'));
  alone.push(roomy.run('a2'));
  assert.deepEqual(roomy.begun, ['a1']);
  for (const name of ['a1', 'a2']) await roomy.end(name);
  assert.deepEqual(await Promise.all(alone), ['a1 is done', 'a2 is done']);
  assert.deepEqual(work.begun, ['a1', 'b1'], 'nothing of a tenant is forgotten while it runs');
  await work.end('b1');
  assert.deepEqual(work.begun, ['a1', 'b1', 'c1'], 'nor while it waits');
  for (const name of ['a1', 'c1', 'a2']) await work.end(name);
  assert.deepEqual(await Promise.all(outcomes), ['a1 is done', 'b1 is done', 'c1 is done', 'a2 is done']);
});

test('one timer checks all callers, and ends when there is none to check', async () => {
  const work = new HeldWork(9, 9, 9);
  assert.equal(work.clock.waiting, 0);
  for (let round = 0; round < 2; round++) {
    const outcomes = ['a1', 'a2', 'b1'].map((name) => work.run(name));
    await work.pass(10 * LOOK_MS);
    assert.equal(work.clock.waiting, 1);
    for (const name of ['a1', 'a2', 'b1']) await work.end(name);
    await Promise.all(outcomes);
    await work.pass(LOOK_MS);
    assert.equal(work.clock.waiting, 0);
  }
});

test('the caller of work that ends before its second check is never checked', async () => {
  const clock = new TestClock();
  const turns = new Turns({ running: 1, tenantRunning: 1, tenantWaiting: 1 }, clock);
  const signal = (): AbortSignal => assert.fail('it was asked');
  const { promise, resolve } = Promise.withResolvers<string>();
  const work = (turn: Turn): Promise<string> => {
    turn.end = () => resolve('ended');
    return promise;
  };
  const running = turns.runInTurn('a', signal, work);
  clock.move(2 * LOOK_MS - 1);
  resolve('done');
  assert.equal(await running, 'done');
});

test('SERVICE_BUSY for all work when the service stops: running, waiting and new', async () => {
  const work = new HeldWork(1, 1, 9);
  const outcomes = [work.run('a1', PRESENT, true), work.run('a2')];
  work.turns.close();
  assert.deepEqual(
    await Promise.all([...outcomes, work.run('b1')]),
    times(3, () => 'SERVICE_BUSY'),
  );
  await work.pass(100 * LOOK_MS);
  assert.deepEqual([work.begun, work.clock.waiting], [['a1'], 0]);
});
