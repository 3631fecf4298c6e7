/**
 * Limits attempts: each further failure makes an account, or a session, wait longer, and an address has 20 attempts per
 * minute. Failures of names without an account are counted in memory by the same rules. Source: decision 0023.
 */
import { hash } from 'node:crypto';
import { formatTime } from '../clock.ts';
import { Refusal } from '../errors.ts';
import type { Failures, UserName } from './account-port.ts';

const FREE_FAILURES = 5;
const WAIT_MAX_SECONDS = 15 * 60;
/** The number of consecutive failures after which every attempt is refused (NIST 800-63B). */
const FAILURES_MAX = 100;
const MINUTE_ATTEMPTS_MAX = 20;
const MINUTE_MS = 60_000;
const REMEMBERED_MAX = 10_000;

/** Returns when the next attempt is allowed: at once ('') for five failures, then 1 s, 2 s, 4 s … 15 min later. */
export function nextTry(failures: number, nowMs: number): string {
  if (failures <= FREE_FAILURES) return '';
  const seconds = Math.min(WAIT_MAX_SECONDS, 2 ** Math.min(failures - FREE_FAILURES - 1, 20));
  return formatTime(nowMs + seconds * 1000);
}

/** Throws TOO_MANY_ATTEMPTS while the account is locked, or has to wait. */
export function checkFailures({ failures, nextTryAt }: Failures, nowMs: number): void {
  if (failures >= FAILURES_MAX) {
    const remedy = 'Ask an owner of the tenant or the operator for a new link.';
    const message = `This account is locked after ${FAILURES_MAX} failed attempts. ${remedy}`;
    throw new Refusal('TOO_MANY_ATTEMPTS', message);
  }
  const waitMs = nextTryAt === '' ? 0 : Date.parse(nextTryAt) - nowMs;
  // A longer wait means that the clock was set back, which must not lock anyone out.
  if (waitMs > 0 && waitMs <= WAIT_MAX_SECONDS * 1000) throw tooMany('Too many failed attempts.', waitMs);
}

/** Limits the attempts of an address, or of any other key, to 20 in a minute, which begins with the first. */
export class MinuteThrottle {
  readonly #place: string;
  readonly #minutes = new Map<string, { readonly startMs: number; attempts: number }>();

  /** Creates a throttle whose refusals say `Too many attempts ${place}.` */
  constructor(place: string) {
    this.#place = place;
  }

  /** Counts an attempt. Throws TOO_MANY_ATTEMPTS when it exceeds the limit. */
  take(key: string, nowMs: number): void {
    const minute = this.#minutes.get(key);
    const ageMs = minute === undefined ? MINUTE_MS : nowMs - minute.startMs;
    if (minute === undefined || ageMs >= MINUTE_MS || ageMs < 0)
      remember(this.#minutes, key, { startMs: nowMs, attempts: 1 });
    else if (minute.attempts < MINUTE_ATTEMPTS_MAX) minute.attempts++;
    else throw tooMany(`Too many attempts ${this.#place}.`, MINUTE_MS - ageMs);
  }
}

/** Failures of names without an account, in memory until a restart. The oldest is dropped when there are too many. */
export class UnknownAccounts {
  readonly #failures = new Map<string, Failures>();

  find(name: UserName): Failures {
    return this.#failures.get(keyOf(name)) ?? { failures: 0, nextTryAt: '' };
  }

  setFailures(name: UserName, before: number, after: Failures): boolean {
    if (this.find(name).failures !== before) return false;
    remember(this.#failures, keyOf(name), after);
    return true;
  }
}

/** Returns a hash, since a name can be as long as a body. */
const keyOf = ({ teamId, email }: UserName) => hash('sha256', JSON.stringify([teamId, email]), 'base64');

/** Returns an IPv4 address, or the 64-bit network of an IPv6 address, since one client can use all of that network. */
export function networkOf(client: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(client);
  if (mapped) return mapped[1]!;
  const [head = '', tail] = client.toLowerCase().split('%')[0]!.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - after.length);
  return [...groups, ...Array<string>(zeros).fill('0'), ...after]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}

function remember<T>(map: Map<string, T>, key: string, value: T) {
  map.delete(key);
  map.set(key, value);
  if (map.size > REMEMBERED_MAX) map.delete(map.keys().next().value!);
}

const tooMany = (sentence: string, waitMs: number) =>
  new Refusal('TOO_MANY_ATTEMPTS', sentence, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
