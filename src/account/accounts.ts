/**
 * Begin here: users sign in and out, and manage their own account (links, sessions, password, second factor). Every use
 * case that checks a password returns a new session token and ends the previous one. Source: decision 0023.
 */
import { randomUUID } from 'node:crypto';
import type { AuditEntry } from '../audit/audit.ts';
import { Refusal, refuseField } from '../errors.ts';
import { formatTime, type Clock } from '../clock.ts';
import { Attempts, ownEntry, type AttemptStores, type ClientContext, type Proof, type Proven } from './attempts.ts';
import { checkStrength, hashPassword } from './password.ts';
import {
  encodeBase32,
  findStep,
  formatUri,
  newRecoveryCodes,
  newSecret,
  openSecret,
  parseSecret,
  sealSecret,
} from './second-factor.ts';
import { endedBefore, hashToken, isLive, isToTouch, newToken, NO_FAILURES, parseEmail } from './users.ts';
import type {
  PasswordHash,
  Session,
  SessionStore,
  SignedIn,
  User,
  UserChange,
  UserName,
  UserStore,
} from './account-port.ts';

const WRONG_CODE =
  'The code does not match the secret. Check the clock of your phone, then enter the code that the app shows.';

const NO_FACTOR = { sealedSecret: null, lastStep: 0 };
const passwordFields = (passwordHash: PasswordHash, { nowMs }: ClientContext) => ({
  passwordHash,
  passwordSetAt: formatTime(nowMs),
});

/** An open session and its token for the cookie. The store keeps only the hash of the token. */
export interface OpenedSession {
  readonly token: string;
  readonly signedIn: SignedIn;
}

export class Accounts {
  readonly #users: UserStore;
  readonly #sessions: SessionStore;
  readonly #attempts: Attempts;

  constructor(stores: AttemptStores, clock: Clock) {
    this.#users = stores.users;
    this.#sessions = stores.sessions;
    this.#attempts = new Attempts(stores, clock);
  }

  /**
   * Opens a session and ends the session with the token `replaces`. Throws SIGN_IN_REFUSED, SECOND_FACTOR_NEEDED,
   * TOO_MANY_ATTEMPTS or SERVICE_BUSY.
   */
  async signIn(
    request: Proof & { teamID: string; email: string },
    context: ClientContext & { readonly replaces?: string | undefined },
  ): Promise<OpenedSession> {
    const email = parseEmail(request.email);
    const name = { teamId: request.teamID, email: email instanceof Refusal ? '' : email };
    const { user, factor } = await this.#attempts.prove(name, request, context);
    const entry = ownEntry(user, 'signed in', context, { factor });
    return this.#beginSession(user, user.passwordHash, context, entry, hashToken(context.replaces ?? ''));
  }

  /**
   * Checks password and second factor again, for changes that need a recent proof, and continues the session under a
   * new token. Throws SIGN_IN_REFUSED, SECOND_FACTOR_NEEDED or TOO_MANY_ATTEMPTS.
   */
  async confirm(signedIn: SignedIn, proof: Proof, context: ClientContext): Promise<OpenedSession> {
    return this.#renew(signedIn, await this.#proveAgain(signedIn, proof, context), context);
  }

  /** Returns the session of a token; undefined when it has ended. */
  async findSession(token: string, nowMs: number): Promise<SignedIn | undefined> {
    const tokenHash = hashToken(token);
    const signedIn = tokenHash && (await this.#sessions.findSession(tokenHash));
    if (!signedIn || !isLive(signedIn.session, nowMs)) return undefined;
    if (isToTouch(signedIn.session, nowMs))
      await this.#sessions.updateSession(signedIn.session.tokenHash, { seenAt: formatTime(nowMs) });
    return signedIn;
  }

  /** Returns the name of the user for whom a link was issued. Throws LINK_INVALID or TOO_MANY_ATTEMPTS. */
  async checkLink(token: string, context: ClientContext): Promise<UserName> {
    this.#attempts.takeClient(context);
    const { teamId, email } = await this.#findByLink(token, context.nowMs);
    return { teamId, email };
  }

  /**
   * Sets the password, removes the second factor, ends all sessions and opens a new one. Throws LINK_INVALID,
   * WEAK_PASSWORD or TOO_MANY_ATTEMPTS.
   */
  useLink(token: string, password: string, context: ClientContext): Promise<OpenedSession> {
    return this.#attempts.admit(context, async () => {
      const user = await this.#findByLink(token, context.nowMs);
      await checkStrength(password, user);
      const { hash } = await hashPassword(password);
      const change: UserChange = {
        set: { ...passwordFields(hash, context), ...NO_FACTOR, linkHash: null, linkEndsAt: '' },
        recoveryHashes: [],
        endSessions: 'all',
        whileProven: user,
      };
      const detail = user.sealedSecret ? { factor: 'disabled' } : {};
      const entry = ownEntry(user, 'password set by link', context, detail);
      // Someone may have used the link in the meantime and set another password.
      const outcome = await this.#users.updateUser(user, change, entry);
      if (outcome instanceof Refusal) throw new Refusal('LINK_INVALID');
      return this.#beginSession(user, hash, context, null);
    });
  }

  /**
   * Changes the password, keeps the second factor, and ends all other sessions. Throws SIGN_IN_REFUSED if the old
   * password is wrong, and WEAK_PASSWORD if the new one is weak.
   */
  async changePassword(
    signedIn: SignedIn,
    { password, newPassword }: Readonly<Record<'password' | 'newPassword', string>>,
    context: ClientContext,
  ): Promise<OpenedSession> {
    const { user, session } = signedIn;
    if (newPassword === password)
      throw refuseField('WEAK_PASSWORD', 'newPassword', 'The new password is the same as the old one. Choose another.');
    // The strength check is expensive, so it runs only after the throttle.
    const proven = await this.#proveAgain(signedIn, { password }, context, false);
    try {
      await checkStrength(newPassword, user, 'newPassword');
    } catch (fault) {
      await proven.undo();
      throw fault;
    }
    const { hash, key } = await this.#attempts.admitUser(1, () => hashPassword(newPassword));
    const sealed = proven.user.sealedSecret;
    const sealedSecret = sealed && sealSecret(openSecret(sealed, proven.key, user), key, user);
    const change: UserChange = {
      set: { ...passwordFields(hash, context), sealedSecret },
      endSessions: { except: session.tokenHash },
    };
    return this.#saveProven(signedIn, proven, change, ownEntry(user, 'password changed', context), context, hash);
  }

  /** Returns a new secret. It is stored once enableSecondFactor receives it with a valid code. */
  beginSecondFactor({ user }: SignedIn) {
    const secret = newSecret();
    return { secret: encodeBase32(secret), uri: formatUri(user, secret) };
  }

  /**
   * Enables the second factor. To replace one, `presentCode` has to be a code of the present one. Throws
   * SIGN_IN_REFUSED if the password or a code is wrong, SECOND_FACTOR_NEEDED, and INVALID_VALUE for a malformed secret.
   */
  async enableSecondFactor(
    signedIn: SignedIn,
    sent: Readonly<Record<'password' | 'secret' | 'code', string>> & { readonly presentCode?: string | undefined },
    context: ClientContext,
  ): Promise<OpenedSession & { readonly recoveryCodes: string[] }> {
    const { user } = signedIn;
    const secret = parseSecret(sent.secret);
    if (!secret)
      throw refuseField('INVALID_VALUE', 'secret', 'secret must be the 32 characters that the dashboard showed.');
    // The caller sent the secret as well, so a wrong code is not a guess and is not counted.
    const step = findStep(secret, sent.code, context.nowMs);
    if (step === undefined) throw refuseField('SIGN_IN_REFUSED', 'code', WRONG_CODE);
    const proven = await this.#proveAgain(signedIn, { ...sent, code: sent.presentCode }, context);
    const { codes, hashes } = newRecoveryCodes();
    const change: UserChange = {
      set: { sealedSecret: sealSecret(secret, proven.key, user), lastStep: step },
      recoveryHashes: hashes,
    };
    const entry = ownEntry(user, 'second factor enabled', context, { factor: proven.factor });
    return { ...(await this.#saveProven(signedIn, proven, change, entry, context)), recoveryCodes: codes };
  }

  /**
   * Disables the second factor. Throws SIGN_IN_REFUSED if the password or the code is wrong, and NOT_FOUND if there is
   * no second factor.
   */
  async disableSecondFactor(signedIn: SignedIn, proof: Proof, context: ClientContext): Promise<OpenedSession> {
    const { user } = signedIn;
    if (user.sealedSecret === null) throw new Refusal('NOT_FOUND', 'Two-step verification is off for this account.');
    const proven = await this.#proveAgain(signedIn, proof, context);
    const entry = ownEntry(user, 'second factor disabled', context, { factor: proven.factor });
    return this.#saveProven(signedIn, proven, { set: NO_FACTOR, recoveryHashes: [] }, entry, context);
  }

  countRecoveryCodes(user: UserName): Promise<number> {
    return this.#users.countRecoveryCodes(user);
  }

  async signOut({ user, session }: SignedIn, context: ClientContext): Promise<void> {
    await this.#sessions.endSessions(user, { sessionId: session.sessionId }, ownEntry(user, 'signed out', context));
  }

  /** Lists the sessions that have not ended, newest first. */
  async listSessions({ user }: SignedIn, nowMs: number): Promise<Session[]> {
    return (await this.#sessions.listSessions(user)).filter((session) => isLive(session, nowMs));
  }

  /** Ends one session of the user, or all except this one. Throws NOT_FOUND if the user has no such session. */
  async endSessions({ user, session }: SignedIn, sessionId: string | undefined, context: ClientContext): Promise<void> {
    const which = sessionId === undefined ? { except: session.tokenHash } : { sessionId };
    const entry = ownEntry(user, 'sessions ended', context, { which: sessionId ?? 'all others' });
    const ended = await this.#sessions.endSessions(user, which, entry);
    if (ended === 0 && sessionId !== undefined)
      throw refuseField('NOT_FOUND', 'sessionId', 'This session does not exist or has already ended.');
  }

  deleteExpired(nowMs: number): Promise<void> {
    const { createdBefore, seenBefore } = endedBefore(nowMs);
    return this.#sessions.deleteSessionsBefore(createdBefore, seenBefore);
  }

  /** Checks the proof of a signed-in user. Unlike a refused sign-in, the refusal says what was wrong. */
  async #proveAgain(signedIn: SignedIn, proof: Proof, context: ClientContext, asksFactor = true): Promise<Proven> {
    try {
      return await this.#attempts.proveAgain(signedIn, proof, context, asksFactor);
    } catch (fault) {
      if (!(fault instanceof Refusal) || fault.code !== 'SIGN_IN_REFUSED') throw fault;
      throw asksFactor && signedIn.user.sealedSecret
        ? new Refusal('SIGN_IN_REFUSED', 'The password or the code is wrong, or the code was used before.')
        : refuseField('SIGN_IN_REFUSED', 'password', 'The password is wrong.');
    }
  }

  async #findByLink(token: string, nowMs: number): Promise<User> {
    const linkHash = hashToken(token);
    const user = linkHash && (await this.#users.findUserByLink(linkHash));
    if (!user || !(Date.parse(user.linkEndsAt) > nowMs)) throw new Refusal('LINK_INVALID');
    return user;
  }

  /**
   * Saves a change after a proof, and continues the session under a new token. Throws SIGN_IN_REFUSED if the password or
   * the second factor has changed since, or the user was deleted.
   */
  async #saveProven(
    signedIn: SignedIn,
    proven: Proven,
    change: UserChange,
    entry: AuditEntry,
    context: ClientContext,
    passwordHash?: PasswordHash,
  ): Promise<OpenedSession> {
    const outcome = await this.#users.updateUser(signedIn.user, { ...change, whileProven: proven.user }, entry);
    if (outcome instanceof Refusal) throw new Refusal('SIGN_IN_REFUSED');
    return this.#renew(signedIn, proven, context, passwordHash);
  }

  /** Continues the session under a new token. The session's latest end stays the same. */
  async #renew(
    { user, session }: SignedIn,
    proven: Proven,
    context: ClientContext,
    passwordHash = proven.user.passwordHash,
  ): Promise<OpenedSession> {
    const token = newToken();
    const now = formatTime(context.nowMs);
    // A correct password must not reset the counter of wrong second factors.
    const isPart = proven.factor === 'password' && proven.user.sealedSecret !== null;
    const { failures, nextTryAt } = isPart ? proven.failures : NO_FAILURES;
    const renewal = { tokenHash: hashToken(token)!, seenAt: now, provenAt: now, failures, nextTryAt };
    await this.#sessions.updateSession(session.tokenHash, renewal);
    return this.#loadOpened(user, token, passwordHash, context);
  }

  /** Opens a session for the user who proved this password hash. Ends the session with the token hash `replaces`. */
  async #beginSession(
    user: User,
    passwordHash: PasswordHash,
    context: ClientContext,
    entry: AuditEntry | null,
    replaces?: Buffer,
  ): Promise<OpenedSession> {
    const { teamId, email } = user;
    const token = newToken();
    const now = formatTime(context.nowMs);
    const times = { createdAt: now, seenAt: now, provenAt: now };
    const opened = { sessionId: randomUUID(), client: context.client, agent: context.agent, ...NO_FAILURES };
    const session: Session = { teamId, email, tokenHash: hashToken(token)!, ...times, ...opened };
    await this.#sessions.openSession(session, entry, replaces);
    return this.#loadOpened(user, token, passwordHash, context);
  }

  /**
   * Loads a session that was just opened or renewed. If the password has changed since the proof, ends this session,
   * because the change may have missed it, and throws SIGN_IN_REFUSED.
   */
  async #loadOpened(
    user: User,
    token: string,
    passwordHash: PasswordHash,
    context: ClientContext,
  ): Promise<OpenedSession> {
    const signedIn = await this.#sessions.findSession(hashToken(token)!);
    if (signedIn?.user.passwordHash === passwordHash) return { token, signedIn };
    if (signedIn) {
      const { sessionId } = signedIn.session;
      const entry = ownEntry(user, 'sessions ended', context, { which: sessionId, reason: 'password changed' });
      await this.#sessions.endSessions(user, { sessionId }, entry);
    }
    throw new Refusal('SIGN_IN_REFUSED');
  }
}
