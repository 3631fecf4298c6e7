/**
 * The time of the tests: it begins at noon of a day in the middle of a month, and passes as real time does, the same in
 * every process of a run. So no test meets the end of a day by chance. A `TestClock` is what a test gives to the code,
 * and moves.
 */
import type { Clock, Timer } from '../../src/clock.ts';
import { isFromSources } from './program.ts';

const BEGINS_AT = Date.parse('2026-03-18T12:00:00Z');
/**
 * How far the time of the tests is from the real one; of a date that stands still, `=` and that date. Processes that a
 * test starts inherit it.
 */
const VARIABLE = 'STOREROOM_TEST_CLOCK';
/** The program as it is shipped has the real time. */
process.env[VARIABLE] ??= String(isFromSources ? BEGINS_AT - Date.now() : 0);

type Environment = Readonly<Record<string, string | undefined>>;

/** Milliseconds since 1970, of an environment or of the tests. */
export function now(env: Environment = {}, real = Date.now()): number {
  const given = env[VARIABLE] ?? process.env[VARIABLE]!;
  return given.startsWith('=') ? Number(given.slice(1)) : real + Number(given);
}

/** The variable of a process whose time is so much later than that of the tests. */
export const clockVariable = (movedMs: number): Record<string, string> => ({
  [VARIABLE]: String(Number(process.env[VARIABLE]) + movedMs),
});

/** The variable of a process whose date stands. */
export const dateVariable = (date: number): Record<string, string> => ({ [VARIABLE]: `=${date}` });

/** The variable of what runs on real time. */
export const REAL_TIME: Record<string, string> = { [VARIABLE]: '0' };

/** ISO 8601, UTC: the time of the tests, or one so many milliseconds later. */
export const timeAt = (ms = 0): string => new Date(now() + ms).toISOString();

interface Waiting {
  readonly at: number;
  readonly work: () => void;
  timer: NodeJS.Timeout | undefined;
}

interface ClockOptions {
  readonly passes?: boolean;
  /** Whether only the date is moved, ahead or back, and by nothing else; what is waited for passes. */
  readonly dateStands?: boolean;
  readonly at?: number;
  /** What the real time was at it. */
  readonly real?: number;
}

/** Stands still until it is moved; with `passes`, real time moves it too. */
export class TestClock implements Clock {
  readonly #begunAt = performance.now();
  /** How far it is from the time of the tests. */
  readonly #ahead: number;
  readonly #waiting = new Set<Waiting>();
  /** By moves alone: a whole number, as a test's are, so that what is due in so many milliseconds is due exactly. */
  #moved = 0;
  /** One that stands. */
  #date: number | undefined;
  /** Real time that has passed while it stood. */
  #stood = 0;
  /** Both times, but for the moves, of the moment from which on it stands; undefined while it passes. */
  #standsAt: { readonly now: number; readonly elapsed: number } | undefined;

  constructor({ passes = false, dateStands = false, at, real }: ClockOptions = {}) {
    const moment = { now: now({}, real), elapsed: 0 };
    this.#standsAt = passes ? undefined : moment;
    this.#ahead = at === undefined ? 0 : at - moment.now;
    this.#date = dateStands ? moment.now + this.#ahead : undefined;
  }

  readonly elapsed = (): number => this.#moved + (this.#standsAt ?? this.#passing()).elapsed;
  /** Of two processes whose clocks pass, what the second reads after the first is never less. */
  readonly now = (): number =>
    this.#date ?? Math.floor((this.#standsAt ?? this.#passing()).now + this.#ahead + this.#moved);

  /** Its time and the real one of the same millisecond. */
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
      const alive = setInterval(() => wake, 1 << 30); // keeps the process alive, as a real one does
    });

  /** How many wait for it. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** So many milliseconds pass at once. What is due by then runs in its order, each at its time. */
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

  /** So many milliseconds pass in which nothing can run, as in a busy process: what was due by then runs late. */
  hold(ms: number): void {
    this.#moved += ms;
    this.move(0);
  }

  /** From here on it passes only when it is moved. */
  stand(): void {
    const { now: at, elapsed } = this.#passing();
    this.#standsAt ??= { now: Math.floor(at), elapsed: Math.ceil(elapsed) };
    this.#armAll();
  }

  /** It passes as real time does, until it stands again. */
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
    const left = Math.max(0, waiting.at - this.elapsed()); // of a busy process, the time may be over by now
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

/** The clock of a process with this environment. */
export function clockOf(env: Environment): TestClock {
  const [real, dateStands] = [Date.now(), env[VARIABLE]?.startsWith('=') === true];
  return new TestClock({ passes: true, dateStands, at: now(env, real), real });
}

/** For code to which time is not the point. */
export const passing: Clock = new TestClock({ passes: true });
