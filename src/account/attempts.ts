/**
 * Checks who a caller is, by password and second factor. Every attempt is throttled and counted before it is checked:
 * each further failure makes an account, or a session, wait longer, and addresses and networks have limits per minute.
 * Names without an account get the same response and the same waits. Source: decision 0023.
 */
import ipaddr from 'ipaddr.js';
import { entryBy, type AuditEntry, type AuditStore } from '../audit/audit.ts';
import { formatTime, MINUTE_MS, type Clock } from '../clock.ts';
import { Refusal } from '../errors.ts';
import type { Failures, SessionStore, SignedIn, User, UserName, UserStore } from './account-port.ts';
import { makeLine, type RunInLine } from './line.ts';
import { checkPassword } from './password.ts';
import { findStep, looksLikeCode, openSecret, parseRecoveryCode } from './second-factor.ts';

const FREE_FAILURES = 5;
const WAIT_MAX_SECONDS = 15 * 60;
/** The number of consecutive failures after which every attempt is refused (NIST 800-63B). */
const FAILURES_MAX = 100;
const MINUTE_ATTEMPTS_MAX = 20;
/** Maximum attempts of a network in a minute, except those that succeed. */
const NETWORK_ATTEMPTS_MAX = 100;
const REMEMBERED_MAX = 10_000;

/** Returns when the next attempt is allowed: at once ('') up to five failures, then 1 s, 2 s, 4 s … 15 min later. */
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

/**
 * Makes a throttle, which limits the attempts of a key, such as an address, in a minute. The first attempt begins the
 * minute. It counts an attempt and returns those of the minute, or throws TOO_MANY_ATTEMPTS (`Too many attempts
 * ${place}.`).
 */
export function makeThrottle(place: string, most = MINUTE_ATTEMPTS_MAX): Throttle {
  const minutes = new Map<string, Minute>();
  return (key, nowMs) => {
    const minute = minutes.get(key);
    const ageMs = minute === undefined ? MINUTE_MS : nowMs - minute.startMs;
    if (minute === undefined || ageMs >= MINUTE_MS || ageMs < 0) {
      const first = { startMs: nowMs, attempts: 1 };
      minutes.delete(key);
      minutes.set(key, first);
      if (minutes.size > REMEMBERED_MAX) minutes.delete(minutes.keys().next().value!);
      return first;
    }
    if (minute.attempts >= most) throw tooMany(`Too many attempts ${place}.`, MINUTE_MS - ageMs);
    minute.attempts++;
    return minute;
  };
}

type Throttle = (key: string, nowMs: number) => Minute;
interface Minute {
  readonly startMs: number;
  attempts: number;
}

/**
 * Returns an IPv4 address, or the 64-bit network of an IPv6 address, since one client can use all of that network.
 * Three parts of them are the networks with 24 and 48 bits, which providers assign as a whole. Other texts stay as they
 * are.
 */
export function networkOf(client: string, parts = 4): string {
  if (!ipaddr.isValid(client)) return client;
  const address = ipaddr.process(client);
  if ('octets' in address) return address.octets.slice(0, parts).join('.');
  const groups = address.parts.slice(0, parts);
  return groups.map((group) => group.toString(16)).join(':');
}

const tooMany = (sentence: string, waitMs: number) =>
  new Refusal('TOO_MANY_ATTEMPTS', sentence, { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) });

/** The time of a request, the address of its client, and the first 200 characters of its User-Agent. */
export interface ClientContext {
  readonly nowMs: number;
  readonly client: string;
  readonly agent: string;
}

export interface Proof {
  readonly password: string;
  /** Six digits or a recovery code; '' or undefined when none was sent. */
  readonly code?: string | undefined;
}

type Factor = 'password' | 'totp' | 'recovery code';

export interface Proven {
  /** The user as loaded before the attempt was counted. */
  readonly user: User;
  /** The failures before the attempt. */
  readonly failures: Failures;
  readonly factor: Factor;
  /** The key that opens the user's sealed secret: 32 bytes, derived from the password and dropped with the request. */
  readonly key: Buffer;
  /** Undoes the attempt, for a request that is refused later for another reason. */
  readonly undo: () => Promise<unknown>;
}

export const ownEntry = (
  { email }: UserName,
  action: string,
  context: ClientContext,
  detail?: AuditEntry['detail'],
): AuditEntry => entryBy({ ...context, actor: email }, action, email, detail);

/** A place where attempts are counted: the user's name, or a session, which strangers cannot reach. */
interface Counter {
  readonly loadFailures: () => Promise<{ readonly user: User | undefined; readonly failures: Failures }>;
  /** Saves the failures. Returns false when there are no longer `before` failures. */
  readonly saveFailures: (user: User | undefined, before: number, after: Failures) => Promise<boolean>;
  /** The action of a refusal in the audit log. */
  readonly refusal: string;
}

/** The attempts that this node has counted, and the line of the callers whose passwords it checks. */
export interface Attempts {
  readonly clock: Clock;
  readonly byClient: Throttle;
  readonly bySession: Throttle;
  readonly byNetwork: Throttle;
  readonly runInLine: RunInLine;
}
export const makeAttempts = (clock: Clock): Attempts => ({
  clock,
  byClient: makeThrottle('from this address'),
  bySession: makeThrottle('in this session'),
  byNetwork: makeThrottle('from this network', NETWORK_ATTEMPTS_MAX),
  runInLine: makeLine(),
});

/** A request of a browser. */
export interface Visit {
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly audit: AuditStore;
  readonly attempts: Attempts;
  readonly client: ClientContext;
}
export interface OwnVisit extends Visit {
  readonly signedIn: SignedIn;
}

/** Minimum duration of a refusal. It hides the store's work for accounts that exist. */
const REFUSAL_MS = 250;

/** Counts an attempt of an address and its network. Throws TOO_MANY_ATTEMPTS. */
export function takeClient({ attempts, client: { client, nowMs } }: Visit): Minute {
  attempts.byClient(networkOf(client), nowMs);
  return attempts.byNetwork(networkOf(client, 3), nowMs);
}

/** Runs work for a stranger in the line, and counts its attempt. Throws TOO_MANY_ATTEMPTS or SERVICE_BUSY. */
export async function admitStranger<T>(visit: Visit, work: () => Promise<T>): Promise<T> {
  const minute = takeClient(visit);
  const done = await visit.attempts.runInLine(minute.attempts, work);
  minute.attempts--;
  return done;
}

/** Runs work of a signed-in user with this many attempts. It goes before the work of strangers. Throws SERVICE_BUSY. */
export const admitUser = <T>({ attempts }: Visit, count: number, work: () => Promise<T>): Promise<T> =>
  attempts.runInLine(count - MINUTE_ATTEMPTS_MAX, work);

/**
 * Checks a sign-in. Throws SIGN_IN_REFUSED if anything is wrong, SECOND_FACTOR_NEEDED if only the code is missing,
 * TOO_MANY_ATTEMPTS, and SERVICE_BUSY. An attempt without the code is undone, because it did not fail. Earlier failures
 * stay counted, so that no one can guess codes without a limit.
 */
export async function prove(visit: Visit, name: UserName, proof: Proof): Promise<Proven> {
  const { users } = visit;
  const counter: Counter = {
    loadFailures: async () => {
      // Both are loaded for every name, so that the time does not tell which names have an account.
      const [user, failures] = await Promise.all([users.findUser(name), users.findUnknownFailures(name)]);
      return { user, failures: user ?? failures };
    },
    saveFailures: (user, before, after) =>
      user ? users.setFailures(user, before, after) : users.countUnknownFailure(name, after),
    refusal: 'sign-in refused',
  };
  return pauseRefusal(
    visit,
    admitStranger(visit, () => checkCounted(visit, counter, proof, true)),
  );
}

/**
 * Checks the user of a session like a sign-in. The session's attempts are counted separately, so that failed sign-ins
 * by others do not block them. Throws NOT_SIGNED_IN when the session has ended.
 */
export async function proveAgain(visit: OwnVisit, proof: Proof, asksFactor: boolean): Promise<Proven> {
  const { sessions, attempts, signedIn, client } = visit;
  const { session, user } = signedIn;
  checkFailures(session, client.nowMs);
  // This key stays the same when the token of the session is renewed.
  const minute = attempts.bySession(`${user.teamId} ${user.email} ${session.createdAt}`, client.nowMs);
  const { tokenHash } = session;
  const counter: Counter = {
    loadFailures: async () => {
      const found = await sessions.findSession(tokenHash);
      if (!found) throw new Refusal('NOT_SIGNED_IN');
      return { user: found.user, failures: found.session };
    },
    saveFailures: (_user, before, after) => sessions.updateSession(tokenHash, after, before),
    refusal: 'proof refused',
  };
  return pauseRefusal(
    visit,
    admitUser(visit, minute.attempts, () => checkCounted(visit, counter, proof, asksFactor)),
  );
}

/** Delays SIGN_IN_REFUSED, outside the line. */
async function pauseRefusal<T>({ attempts }: Visit, proving: Promise<T>): Promise<T> {
  const pause = new Promise<void>((resolve) => void attempts.clock.after(REFUSAL_MS, resolve));
  try {
    return await proving;
  } catch (fault) {
    if (fault instanceof Refusal && fault.code === 'SIGN_IN_REFUSED') await pause;
    throw fault;
  }
}

async function checkCounted(visit: Visit, counter: Counter, proof: Proof, asksFactor: boolean): Promise<Proven> {
  const { audit, client } = visit;
  const { user, failures } = await countAttempt(counter, client.nowMs);
  const { failures: before, nextTryAt } = failures;
  const undo = () => counter.saveFailures(user, before + 1, { failures: before, nextTryAt });
  const { matches, key } = await checkPassword(proof.password, user?.passwordHash ?? '');
  if (user && matches) {
    if (!asksFactor || user.sealedSecret === null) return { user, failures, factor: 'password', key, undo };
    if ((proof.code ?? '').trim() === '') {
      await undo();
      throw new Refusal('SECOND_FACTOR_NEEDED');
    }
    const factor = await useCode(visit, user, user.sealedSecret, proof.code!, key);
    if (factor !== undefined) return { user, failures, factor, key, undo };
  }
  // The throttle bounds the number of these records.
  const detail = { wrong: matches ? 'code' : 'password' };
  if (user) await audit.appendAudit(user.teamId, ownEntry(user, counter.refusal, client, detail));
  throw new Refusal('SIGN_IN_REFUSED');
}

/** Counts the attempt. Starts again if another was counted in between, so that simultaneous guesses all count. */
async function countAttempt(counter: Counter, nowMs: number): Promise<Awaited<ReturnType<Counter['loadFailures']>>> {
  for (;;) {
    const loaded = await counter.loadFailures();
    checkFailures(loaded.failures, nowMs);
    const failures = loaded.failures.failures + 1;
    const counted = { failures, nextTryAt: nextTry(failures, nowMs) };
    if (await counter.saveFailures(loaded.user, failures - 1, counted)) return loaded;
  }
}

/** Returns the kind of code; undefined when the code is wrong or was used before. */
async function useCode(
  { users, client }: Visit,
  user: User,
  sealed: Uint8Array,
  code: string,
  key: Buffer,
): Promise<Factor | undefined> {
  if (!looksLikeCode(code)) {
    const codeHash = parseRecoveryCode(code);
    return codeHash && (await users.useRecoveryCode(user, codeHash)) ? 'recovery code' : undefined;
  }
  const step = findStep(openSecret(sealed, key, user), code, client.nowMs);
  return step !== undefined && (await users.useStep(user, step)) ? 'totp' : undefined;
}
