/**
 * The time of the tests. It begins at noon on a day in the middle of a month and then passes like real time. It is the
 * same in every process of a run, so no test meets the end of a day by chance. Tests pass a `TestClock` to the code and
 * move it.
 */
import type { Clock, Timer } from '../../src/clock.ts';
import { isFromSources } from './program.ts';

const BEGINS_AT = Date.parse('2026-03-18T12:00:00Z');
/**
 * Milliseconds from real time to the time of the tests, or `=` and a date that stands still. Processes that a test
 * starts inherit this variable.
 */
const VARIABLE = 'STOREROOM_TEST_CLOCK';
/** The compiled program and the executable run on real time. */
process.env[VARIABLE] ??= String(isFromSources ? BEGINS_AT - Date.now() : 0);

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the time in an environment, or else the time of the tests, in milliseconds since 1970. */
export function now(env: Environment = {}, real = Date.now()): number {
  const given = env[VARIABLE] ?? process.env[VARIABLE]!;
  return given.startsWith('=') ? Number(given.slice(1)) : real + Number(given);
}

/** Returns the variable for a process whose time is this much later than the time of the tests. */
export const clockVariable = (movedMs: number): Record<string, string> => ({
  [VARIABLE]: String(Number(process.env[VARIABLE]) + movedMs),
});

/** Returns the variable for a process whose date stands still. */
export const dateVariable = (date: number): Record<string, string> => ({ [VARIABLE]: `=${date}` });

/** The variable for processes that run on real time. */
export const REAL_TIME: Record<string, string> = { [VARIABLE]: '0' };

/** Returns the time of the tests, `ms` milliseconds later, as ISO 8601 in UTC. */
export const timeAt = (ms = 0): string => new Date(now() + ms).toISOString();

interface Waiting {
  readonly at: number;
  readonly work: () => void;
  timer: NodeJS.Timeout | undefined;
}

interface ClockOptions {
  readonly passes?: boolean;
  /** Whether the date changes only when it is moved, ahead or back. Waits then pass in real time and are not moved. */
  readonly dateStands?: boolean;
  readonly at?: number;
  /** Real time at the moment `at`. */
  readonly real?: number;
}

/** A clock that stands still until it is moved. With `passes`, real time moves it too. */
export class TestClock implements Clock {
  readonly #begunAt = performance.now();
  /** Milliseconds that it is ahead of the time of the tests, without its moves. */
  readonly #ahead: number;
  readonly #waiting = new Set<Waiting>();
  /** Sum of all moves. It is a whole number, so that a move by the length of a wait ends that wait exactly. */
  #moved = 0;
  /** The date, if it stands still. */
  #date: number | undefined;
  /** Milliseconds of real time that have passed while the clock stood still. */
  #stood = 0;
  /** Both times, without the moves, of the moment since which it stands still; undefined while it passes. */
  #standsAt: { readonly now: number; readonly elapsed: number } | undefined;

  constructor({ passes = false, dateStands = false, at, real }: ClockOptions = {}) {
    const moment = { now: now({}, real), elapsed: 0 };
    this.#standsAt = passes ? undefined : moment;
    this.#ahead = at === undefined ? 0 : at - moment.now;
    this.#date = dateStands ? moment.now + this.#ahead : undefined;
  }

  readonly elapsed = (): number => this.#moved + (this.#standsAt ?? this.#passing()).elapsed;
  /** Never returns a time before one that another process with a passing clock has read. */
  readonly now = (): number =>
    this.#date ?? Math.floor((this.#standsAt ?? this.#passing()).now + this.#ahead + this.#moved);

  /** Returns its time and the real time of the same millisecond. */
  read(): [at: number, real: number] {
    for (;;) {
      const [real, at] = [Date.now(), this.now()];
      if (Date.now() === real) return [at, real];
    }
  }

  readonly after = (ms: number, work: () => void): Timer => {
    const waiting: Waiting = { at: this.elapsed() + ms, work, timer: undefined };
    this.#waiting.add(waiting);
    this.#arm(waiting);
    return { close: () => this.#forget(waiting) };
  };

  readonly sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const wake = this.after(ms, () => {
        clearInterval(alive);
        resolve();
      });
      const alive = setInterval(() => wake, 1 << 30); // keeps the process alive, as a real sleep does
    });

  /** Number of pending timers and sleeps. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Moves the clock by `ms` at once. Work that is due by then runs in order, each at its own time. */
  move(ms: number): void {
    if (this.#date !== undefined) {
      this.#date += ms;
      return;
    }
    const moved = this.#moved + ms;
    const end = this.elapsed() + ms;
    for (;;) {
      const next = [...this.#waiting].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#moved = Math.min(moved, this.#moved + Math.max(0, next.at - this.elapsed()));
      this.#forget(next);
      next.work();
    }
    this.#moved = moved;
    this.#armAll();
  }

  /** Moves the clock as if the process were too busy to run anything: work that was due in between runs late. */
  hold(ms: number): void {
    this.#moved += ms;
    this.move(0);
  }

  /** Stops the clock: from now on, only moves change it. */
  stand(): void {
    const { now: at, elapsed } = this.#passing();
    this.#standsAt ??= { now: Math.floor(at), elapsed: Math.ceil(elapsed) };
    this.#armAll();
  }

  /** Lets the clock pass like real time until `stand` stops it. */
  pass(): void {
    if (this.#standsAt) this.#stood += this.#passing().elapsed - this.#standsAt.elapsed;
    this.#standsAt = undefined;
    this.#armAll();
  }

  #passing(): { now: number; elapsed: number } {
    return { now: now() - this.#stood, elapsed: performance.now() - this.#begunAt - this.#stood };
  }

  #armAll(): void {
    for (const waiting of this.#waiting) this.#arm(waiting);
  }

  #arm(waiting: Waiting): void {
    clearTimeout(waiting.timer);
    if (this.#standsAt) return;
    const left = Math.max(0, waiting.at - this.elapsed()); // in a busy process, the time may be over by now
    waiting.timer = setTimeout(() => {
      this.#forget(waiting);
      waiting.work();
    }, left).unref();
  }

  #forget(waiting: Waiting): void {
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
  }
}

/** Returns the clock for a process with this environment. */
export function clockOf(env: Environment): TestClock {
  const [real, dateStands] = [Date.now(), env[VARIABLE]?.startsWith('=') === true];
  return new TestClock({ passes: true, dateStands, at: now(env, real), real });
}

/** A passing clock for tests in which time does not matter. */
export const passing: Clock = new TestClock({ passes: true });
