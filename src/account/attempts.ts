/**
 * Checks who a caller is, by password and second factor. Every attempt is throttled and counted before it is checked.
 * Users that do not exist get the same response as users that do. Source: decision 0023.
 */
import { entryBy, type AuditEntry } from '../audit/entry.ts';
import type { AuditStore } from '../audit/audit-port.ts';
import type { Clock } from '../clock.ts';
import { Refusal } from '../errors.ts';
import { checkPassword, type Line } from './password.ts';
import type { Failures, SessionStore, SignedIn, User, UserName, UserStore } from './account-port.ts';
import { findStep, looksLikeCode, open, parseRecoveryCode } from './second-factor.ts';
import { checkFailures, MinuteThrottle, networkOf, nextTry, UnknownAccounts } from './throttle.ts';

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

export type Factor = 'password' | 'totp' | 'recovery code';

export interface Proven {
  /** The user as loaded before the attempt was counted. */
  readonly user: User;
  /** The failures before the attempt. */
  readonly failures: Failures;
  readonly factor: Factor;
  /** The key of the secret that was sealed for the user: 32 bytes, dropped with the request. */
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
  readonly load: () => Promise<{ readonly user: User | undefined; readonly failures: Failures }>;
  /** Returns false when there are no longer `before` failures. */
  readonly save: (user: User | undefined, before: number, after: Failures) => Promise<boolean>;
  readonly line: Line;
  /** The action of a refusal in the audit log. */
  readonly refusal: string;
}

export interface AttemptStores {
  readonly users: UserStore;
  readonly sessions: SessionStore;
  readonly audit: AuditStore;
}

/** Minimum duration of a refusal. It hides the store's work for accounts that exist. */
const REFUSAL_MS = 250;

export class Attempts {
  readonly #users: UserStore;
  readonly #sessions: SessionStore;
  readonly #audit: AuditStore;
  readonly #byClient = new MinuteThrottle('from this address');
  readonly #bySession = new MinuteThrottle('in this session');
  readonly #unknown = new UnknownAccounts();
  readonly #clock: Clock;

  constructor({ users, sessions, audit }: AttemptStores, clock: Clock) {
    this.#users = users;
    this.#sessions = sessions;
    this.#audit = audit;
    this.#clock = clock;
  }

  /** Counts an attempt of an address. Throws TOO_MANY_ATTEMPTS. */
  takeClient({ client, nowMs }: ClientContext): void {
    this.#byClient.take(networkOf(client), nowMs);
  }

  /**
   * Checks a sign-in. Throws SIGN_IN_REFUSED if anything is wrong, SECOND_FACTOR_NEEDED if only the code is missing,
   * TOO_MANY_ATTEMPTS, and SERVICE_BUSY. An attempt without the code is undone, because it did not fail. Earlier
   * failures stay counted, so that no one can guess codes without a limit.
   */
  async prove(name: UserName, proof: Proof, context: ClientContext): Promise<Proven> {
    this.takeClient(context);
    const isName = /^[\w.-]{1,64}$/.test(name.teamId) && name.email !== '';
    const counter: Counter = {
      load: async () => {
        const user = isName ? await this.#users.findUser(name) : undefined;
        return { user, failures: user ?? this.#unknown.find(name) };
      },
      save: async (user, before, after) =>
        user ? this.#users.setFailures(user, before, after) : this.#unknown.setFailures(name, before, after),
      line: 'stranger',
      refusal: 'sign-in refused',
    };
    return this.#check(counter, proof, context, true);
  }

  /**
   * Checks the user of a session like a sign-in. Its attempts are counted separately, so that failed sign-ins by others
   * do not block them. Throws NOT_SIGNED_IN when the session has ended.
   */
  async proveAgain(
    { session, user }: SignedIn,
    proof: Proof,
    context: ClientContext,
    asksFactor: boolean,
  ): Promise<Proven> {
    checkFailures(session, context.nowMs);
    // This key stays the same when the token of the session is renewed.
    this.#bySession.take(`${user.teamId} ${user.email} ${session.createdAt}`, context.nowMs);
    const { tokenHash } = session;
    const counter: Counter = {
      load: async () => {
        const found = await this.#sessions.findSession(tokenHash);
        if (!found) throw new Refusal('NOT_SIGNED_IN');
        return { user: found.user, failures: found.session };
      },
      save: (_user, before, after) => this.#sessions.updateSession(tokenHash, after, before),
      line: 'session',
      refusal: 'proof refused',
    };
    return this.#check(counter, proof, context, asksFactor);
  }

  async #check(counter: Counter, proof: Proof, context: ClientContext, asksFactor: boolean): Promise<Proven> {
    const pause = new Promise<void>((resolve) => void this.#clock.after(REFUSAL_MS, resolve));
    const { user, failures } = await this.#count(counter, context.nowMs);
    const { failures: before, nextTryAt } = failures;
    const undo = () => counter.save(user, before + 1, { failures: before, nextTryAt });
    let checked: Awaited<ReturnType<typeof checkPassword>>;
    try {
      checked = await checkPassword(proof.password, user?.passwordHash ?? '', counter.line);
    } catch (fault) {
      await undo();
      throw fault;
    }
    const { matches, key } = checked;
    if (user && matches) {
      if (!asksFactor || user.sealedSecret === null) return { user, failures, factor: 'password', key, undo };
      if ((proof.code ?? '').trim() === '') {
        await undo();
        throw new Refusal('SECOND_FACTOR_NEEDED');
      }
      const factor = await this.#useCode(user, user.sealedSecret, proof.code!, key, context.nowMs);
      if (factor !== undefined) return { user, failures, factor, key, undo };
    }
    // The throttle bounds the number of these records.
    const detail = { wrong: matches ? 'code' : 'password' };
    if (user) await this.#audit.appendAudit(user.teamId, ownEntry(user, counter.refusal, context, detail));
    await pause;
    throw new Refusal('SIGN_IN_REFUSED');
  }

  /** Counts the attempt. Starts again if another was counted in between, so that simultaneous guesses all count. */
  async #count(counter: Counter, nowMs: number): Promise<Awaited<ReturnType<Counter['load']>>> {
    for (;;) {
      const loaded = await counter.load();
      checkFailures(loaded.failures, nowMs);
      const failures = loaded.failures.failures + 1;
      const counted = { failures, nextTryAt: nextTry(failures, nowMs) };
      if (await counter.save(loaded.user, failures - 1, counted)) return loaded;
    }
  }

  /** Returns the kind of code; undefined when the code is wrong or was used before. */
  async #useCode(
    user: User,
    sealed: Uint8Array,
    code: string,
    key: Buffer,
    nowMs: number,
  ): Promise<Factor | undefined> {
    if (!looksLikeCode(code)) {
      const hash = parseRecoveryCode(code);
      return hash && (await this.#users.useRecoveryCode(user, hash)) ? 'recovery code' : undefined;
    }
    const secret = open(sealed, key, user);
    if (!secret)
      throw new Error('The sealed secret of two-step verification does not open with the password it was sealed with.');
    const step = findStep(secret, code, nowMs);
    return step !== undefined && (await this.#users.useStep(user, step)) ? 'totp' : undefined;
  }
}
