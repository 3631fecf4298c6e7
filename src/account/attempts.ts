/**
 * An attempt to prove who one is, by password and second factor: throttled, counted before it is looked at, and the same for users that do not exist.
 * Opens no session and changes nothing but counts; what a proof is good for is for its caller to say. Source: decision 0023.
 */
import { Refusal } from '../errors.ts';
import { checkPassword } from './password.ts';
import { findStep, looksLikeCode, open, parseRecoveryCode } from './second-factor.ts';
import type { User, UserName, UserStore } from './port.ts';
import type { AuditStore } from '../audit/port.ts';
import { checkFailures, ClientThrottle, nextTry, UnknownAccounts, type Failures } from './throttle.ts';

/** When a request came, from which address and with which User-Agent. */
export interface Visit {
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
  /** As read before the attempt was counted. */
  readonly user: User;
  readonly factor: Factor;
  /** Opens what was sealed for the user: 32 bytes, only as long as this request. */
  readonly key: Buffer;
}

type Counted = Failures & { readonly user: User | undefined };

export class Attempts {
  readonly #store: UserStore & AuditStore;
  readonly #clients = new ClientThrottle();
  readonly #unknown = new UnknownAccounts();
  readonly #refusalMs: number;

  /** A refusal is not answered earlier than after `refusalMs`: what only an account that exists costs (its counts on disk) is hidden in that. */
  constructor(store: UserStore & AuditStore, refusalMs: number) {
    this.#store = store;
    this.#refusalMs = refusalMs;
  }

  /** Counts an attempt of an address; throws TOO_MANY_ATTEMPTS. */
  takeClient({ client, nowMs }: Visit): void {
    this.#clients.take(client, nowMs);
  }

  /**
   * Who proves it. Throws SIGN_IN_REFUSED, the same whatever is wrong; TOO_MANY_ATTEMPTS; SERVICE_BUSY; and SECOND_FACTOR_NEEDED, which is only said once
   * the password was right. That is no failure, and its attempt is given back: whoever guesses passwords pays for each wrong one all the same, and learns
   * nothing from a right one that costs nothing. Nor does it forget earlier failures, or else it would pay for guessing codes.
   */
  async prove(name: UserName, proof: Proof, visit: Visit, asksFactor: boolean): Promise<Proven> {
    this.takeClient(visit);
    const pause = new Promise<void>((resolve) => void setTimeout(resolve, this.#refusalMs).unref());
    const { user, failures, nextTryAt } = await this.#take(name, visit.nowMs);
    const giveBack = async (): Promise<void> =>
      user ? this.#store.undoAttempt(user, failures, nextTryAt) : this.#unknown.undoAttempt(name, failures, nextTryAt);
    let checked: Awaited<ReturnType<typeof checkPassword>>;
    try {
      checked = await checkPassword(proof.password, user?.passwordHash ?? '');
    } catch (fault) {
      await giveBack();
      throw fault;
    }
    if (user && checked.matches) {
      if (!asksFactor || user.sealedSecret === null) return { user, factor: 'password', key: checked.key };
      if ((proof.code ?? '').trim() === '') {
        await giveBack();
        throw new Refusal('SECOND_FACTOR_NEEDED');
      }
      const factor = await this.#takeCode(user, user.sealedSecret, proof.code!, checked.key, visit.nowMs);
      if (factor !== undefined) return { user, factor, key: checked.key };
    }
    if (user) await this.#writeRefusal(user, checked.matches ? 'code' : 'password', visit);
    await pause;
    throw refusal();
  }

  /** Finds the account and counts the attempt: again when another came between, so that guesses made at the same moment are counted like others. */
  async #take(name: UserName, nowMs: number): Promise<Counted> {
    const isName = /^[\w.-]{1,64}$/.test(name.teamId) && name.email !== '';
    for (;;) {
      const user = isName ? await this.#store.findUser(name) : undefined;
      const { failures, nextTryAt } = user ?? this.#unknown.find(name);
      checkFailures({ failures, nextTryAt }, nowMs);
      const next = nextTry(failures + 1, nowMs);
      const isTaken = user
        ? await this.#store.countAttempt(user, failures, next)
        : this.#unknown.countAttempt(name, failures, next);
      if (isTaken) return { user, failures, nextTryAt };
    }
  }

  /** Which kind of code it was; undefined when it is wrong or was used before. */
  async #takeCode(
    user: User,
    sealed: Uint8Array,
    code: string,
    key: Buffer,
    nowMs: number,
  ): Promise<Factor | undefined> {
    if (!looksLikeCode(code)) {
      const hash = parseRecoveryCode(code);
      return hash && (await this.#store.useRecoveryCode(user, hash)) ? 'recovery code' : undefined;
    }
    const secret = open(sealed, key, user);
    if (!secret)
      throw new Error('The sealed secret of a second factor does not open with the password it was sealed by.');
    const step = findStep(secret, code, nowMs);
    return step !== undefined && (await this.#store.useStep(user, step)) ? 'totp' : undefined;
  }

  /** There are at most as many of these as attempts that were looked at, which the throttle bounds. */
  async #writeRefusal({ teamId, email }: User, wrong: 'password' | 'code', { nowMs, client }: Visit): Promise<void> {
    const at = new Date(nowMs).toISOString();
    await this.#store.appendAudit(teamId, {
      at,
      actor: email,
      action: 'sign-in refused',
      target: email,
      client,
      detail: { wrong },
    });
  }
}

/** One for every cause. */
export const refusal = (): Refusal => new Refusal('SIGN_IN_REFUSED');
