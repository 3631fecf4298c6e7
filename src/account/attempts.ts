/**
 * Proves who a caller is, by password and second factor. Every attempt is throttled, counted before it is checked, and
 * answered alike for users that do not exist. Source: decision 0023.
 */
import { entryBy, type AuditEntry } from '../audit/entry.ts';
import type { AuditStore } from '../audit/port.ts';
import { Refusal } from '../errors.ts';
import { checkPassword } from './password.ts';
import type { User, UserName, UserStore } from './port.ts';
import { findStep, looksLikeCode, open, parseRecoveryCode } from './second-factor.ts';
import { checkFailures, ClientThrottle, nextTry, UnknownAccounts, type Failures } from './throttle.ts';

/** When a request came, from which address, with which User-Agent. */
export interface ClientContext {
  readonly nowMs: number;
  readonly client: string;
  readonly agent: string;
}

export interface Proof {
  readonly password: string;
  /** Six digits or a recovery code; '' or nothing when none was sent. */
  readonly code?: string | undefined;
}

export type Factor = 'password' | 'totp' | 'recovery code';

export interface Proven {
  /** As loaded before the attempt was counted. */
  readonly user: User;
  readonly factor: Factor;
  /** Opens what was sealed for the user: 32 bytes, dropped with the request. */
  readonly key: Buffer;
}

export const ownEntry = (
  { email }: UserName,
  action: string,
  context: ClientContext,
  detail?: AuditEntry['detail'],
): AuditEntry => entryBy({ ...context, actor: email }, action, email, detail);

type Counted = Failures & { readonly user: User | undefined };

export class Attempts {
  readonly #users: UserStore;
  readonly #audit: AuditStore;
  readonly #clients = new ClientThrottle();
  readonly #unknown = new UnknownAccounts();
  readonly #refusalMs: number;

  /** A refusal takes at least `refusalMs`, which hides the store's work for accounts that exist. */
  constructor(users: UserStore, audit: AuditStore, refusalMs: number) {
    this.#users = users;
    this.#audit = audit;
    this.#refusalMs = refusalMs;
  }

  /** Counts an attempt of an address. TOO_MANY_ATTEMPTS. */
  takeClient({ client, nowMs }: ClientContext): void {
    this.#clients.take(client, nowMs);
  }

  /**
   * SIGN_IN_REFUSED whatever is wrong; TOO_MANY_ATTEMPTS; SERVICE_BUSY; SECOND_FACTOR_NEEDED when only the code is
   * missing. That last attempt is undone, since it did not fail. Earlier failures stay counted, so that codes cannot be
   * guessed for free.
   */
  async prove(name: UserName, proof: Proof, context: ClientContext, asksFactor: boolean): Promise<Proven> {
    this.takeClient(context);
    const pause = new Promise<void>((resolve) => void setTimeout(resolve, this.#refusalMs).unref());
    const { user, failures, nextTryAt } = await this.#count(name, context.nowMs);
    const undo = async (): Promise<void> =>
      user ? this.#users.undoAttempt(user, failures, nextTryAt) : this.#unknown.undoAttempt(name, failures, nextTryAt);
    let checked: Awaited<ReturnType<typeof checkPassword>>;
    try {
      checked = await checkPassword(proof.password, user?.passwordHash ?? '');
    } catch (fault) {
      await undo();
      throw fault;
    }
    if (user && checked.matches) {
      if (!asksFactor || user.sealedSecret === null) return { user, factor: 'password', key: checked.key };
      if ((proof.code ?? '').trim() === '') {
        await undo();
        throw new Refusal('SECOND_FACTOR_NEEDED');
      }
      const factor = await this.#useCode(user, user.sealedSecret, proof.code!, checked.key, context.nowMs);
      if (factor !== undefined) return { user, factor, key: checked.key };
    }
    if (user) await this.#logRefusal(user, checked.matches ? 'code' : 'password', context);
    await pause;
    throw new Refusal('SIGN_IN_REFUSED');
  }

  /** Counts the attempt. Starts again when another came between, so that guesses made together all count. */
  async #count(name: UserName, nowMs: number): Promise<Counted> {
    const isName = /^[\w.-]{1,64}$/.test(name.teamId) && name.email !== '';
    for (;;) {
      const user = isName ? await this.#users.findUser(name) : undefined;
      const { failures, nextTryAt } = user ?? this.#unknown.find(name);
      checkFailures({ failures, nextTryAt }, nowMs);
      const next = nextTry(failures + 1, nowMs);
      const isCounted = user
        ? await this.#users.countAttempt(user, failures, next)
        : this.#unknown.countAttempt(name, failures, next);
      if (isCounted) return { user, failures, nextTryAt };
    }
  }

  /** The kind of code; undefined when it is wrong or was used before. */
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
      throw new Error('The sealed secret of a second factor does not open with the password it was sealed by.');
    const step = findStep(secret, code, nowMs);
    return step !== undefined && (await this.#users.useStep(user, step)) ? 'totp' : undefined;
  }

  /** The throttle bounds the number of these records. */
  #logRefusal(user: User, wrong: 'password' | 'code', context: ClientContext): Promise<void> {
    return this.#audit.appendAudit(user.teamId, ownEntry(user, 'sign-in refused', context, { wrong }));
  }
}
