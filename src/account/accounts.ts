/**
 * What somebody does to be signed in and about being so: signing in and out, links, sessions, password, second factor. Times and addresses are given.
 * Refusals are thrown. Every use case that takes a password answers a new token; the one before ends with it. Whose users there are is users.ts.
 * Knows no HTTP and no cookies, and does not ask for roles. Source: security design, decision 0023.
 */
import { randomUUID } from 'node:crypto';
import { Refusal, type Outcome } from '../errors.ts';
import type { AuditEntry } from '../audit/entry.ts';
import { Attempts, refusal, type Proof, type Proven, type Visit } from './attempts.ts';
import { checkStrength, hashPassword } from './password.ts';
import {
  encodeBase32,
  findStep,
  newRecoveryCodes,
  newSecret,
  open,
  parseSecret,
  seal,
  formatUri,
} from './second-factor.ts';
import { endedBefore, hashToken, isLive, isToTouch, newToken } from './sessions.ts';
import type { PasswordHash, Session, SessionStore, SignedIn, User, UserChange, UserName, UserStore } from './port.ts';
import type { AuditStore } from '../audit/port.ts';
import { parseEmail, Users } from './users.ts';

const AGENT_CHARACTERS_MAX = 200;
const REFUSAL_MS = 250;

export type AccountStore = UserStore & SessionStore & AuditStore;

/** Whoever sends a request. */
export type Visitor = Pick<Visit, 'client' | 'agent'>;

/** `token` goes into the cookie; it exists only here and there. */
export interface Opened {
  readonly token: string;
  readonly signedIn: SignedIn;
}

export class Accounts extends Users {
  readonly #store: AccountStore;
  readonly #attempts: Attempts;

  constructor(store: AccountStore, { refusalMs = REFUSAL_MS }: { refusalMs?: number } = {}) {
    super(store);
    this.#store = store;
    this.#attempts = new Attempts(store, refusalMs);
  }

  /** SIGN_IN_REFUSED, SECOND_FACTOR_NEEDED, TOO_MANY_ATTEMPTS, SERVICE_BUSY. `replaces`: the token the request came with, whose session ends. */
  async signIn(
    request: Proof & { teamID: string; email: string },
    visit: Visit & { readonly replaces?: string | undefined },
  ): Promise<Opened> {
    const email = parseEmail(request.email);
    const name = { teamId: request.teamID, email: email instanceof Refusal ? '' : email };
    const { user, factor } = await this.#attempts.prove(name, request, visit, true);
    const entry = entryOf(user, 'signed in', visit, { factor });
    return this.#open(user, user.passwordHash, visit, entry, hashToken(visit.replaces ?? ''));
  }

  /** The password again, before what is sensitive. The session goes on under the new token; the old one ends. */
  async confirm(
    { user, session }: SignedIn,
    password: string,
    visit: Visit,
  ): Promise<Opened & { readonly key: Buffer }> {
    const proven = await this.#proveAgain(user, { password }, visit);
    return {
      ...(await this.#open(user, proven.user.passwordHash, visit, null, session.tokenHash, session.createdAt)),
      key: proven.key,
    };
  }

  /** Who is signed in with this token; undefined when nobody is (any more). */
  async findSession(token: string, nowMs: number): Promise<SignedIn | undefined> {
    const tokenHash = hashToken(token);
    const signedIn = tokenHash && (await this.#store.findSession(tokenHash));
    if (!signedIn || !isLive(signedIn.session, nowMs)) return undefined;
    if (isToTouch(signedIn.session, nowMs))
      await this.#store.touchSession(signedIn.session.tokenHash, new Date(nowMs).toISOString());
    return signedIn;
  }

  /** Whom a link is for; LINK_INVALID. */
  async checkLink(token: string, nowMs: number): Promise<UserName> {
    const { teamId, email } = await this.#findByLink(token, nowMs);
    return { teamId, email };
  }

  /** Sets the password, takes the second factor away, ends all sessions and signs in. A link is good once. LINK_INVALID, WEAK_PASSWORD, TOO_MANY_ATTEMPTS. */
  async useLink(token: string, password: string, visit: Visit): Promise<Opened> {
    this.#attempts.takeClient(visit);
    const user = await this.#findByLink(token, visit.nowMs);
    await checkStrength(password, user);
    const { hash } = await hashPassword(password);
    const change: UserChange = {
      password: { hash, setAt: new Date(visit.nowMs).toISOString() },
      secondFactor: null,
      link: null,
      endSessions: 'all',
      whilePassword: user.passwordHash,
    };
    // Whoever used the link meanwhile has set another password.
    const outcome = await this.#store.updateUser(user, change, entryOf(user, 'password set by link', visit));
    if (outcome instanceof Refusal) throw outcome.code === 'NOT_FOUND' ? new Refusal('LINK_INVALID') : outcome;
    return this.#open(user, hash, visit, null);
  }

  /** Ends all other sessions. A second factor stays as it is. SIGN_IN_REFUSED when the old password is wrong, WEAK_PASSWORD. */
  async changePassword(
    { user, session }: SignedIn,
    oldPassword: string,
    newPassword: string,
    visit: Visit,
  ): Promise<Opened> {
    if (newPassword === oldPassword)
      throw new Refusal('WEAK_PASSWORD', 'The new password is the old one. Choose another.', { field: 'newPassword' });
    await checkStrength(newPassword, user, 'newPassword');
    const proven = await this.#proveAgain(user, { password: oldPassword }, visit);
    const { hash, key } = await hashPassword(newPassword);
    const sealed = proven.user.sealedSecret;
    const secret = sealed && open(sealed, proven.key, user);
    if (secret === undefined)
      throw new Error('The sealed secret of a second factor does not open with the password it was sealed by.');
    const change: UserChange = {
      password: { hash, setAt: new Date(visit.nowMs).toISOString() },
      ...(secret && { sealedSecret: seal(secret, key, user) }),
      endSessions: { except: session.tokenHash },
      whilePassword: proven.user.passwordHash,
    };
    await this.#change(user, change, entryOf(user, 'password changed', visit));
    return this.#open(user, hash, visit, null, session.tokenHash, session.createdAt);
  }

  /** A new secret, which is kept nowhere: it is in force once it comes back with a code. */
  beginSecondFactor({ user }: SignedIn): { secret: string; uri: string } {
    const secret = newSecret();
    return { secret: encodeBase32(secret), uri: formatUri(user, secret) };
  }

  /** Puts a second factor in force, in the place of one before. SIGN_IN_REFUSED: wrong password or code; INVALID_VALUE: not a secret of ours. */
  async enableSecondFactor(
    { user, session }: SignedIn,
    { password, secret: text, code }: { password: string; secret: string; code: string },
    visit: Visit,
  ): Promise<Opened & { readonly recoveryCodes: string[] }> {
    const secret = parseSecret(text);
    if (!secret)
      throw new Refusal('INVALID_VALUE', 'secret must be the 32 characters that were shown.', { field: 'secret' });
    // Both come from the caller, so a wrong code here is no guess and costs nothing.
    const step = findStep(secret, code, visit.nowMs);
    if (step === undefined)
      throw new Refusal(
        'SIGN_IN_REFUSED',
        'The code does not fit the secret. Check the clock of the telephone, and take the code it shows now.',
        {
          field: 'code',
        },
      );
    const proven = await this.#proveAgain(user, { password }, visit);
    const { codes, hashes } = newRecoveryCodes();
    const change: UserChange = {
      secondFactor: { sealedSecret: seal(secret, proven.key, user), lastStep: step, recoveryHashes: hashes },
      whilePassword: proven.user.passwordHash,
    };
    await this.#change(user, change, entryOf(user, 'second factor enabled', visit));
    const opened = await this.#open(user, proven.user.passwordHash, visit, null, session.tokenHash, session.createdAt);
    return { ...opened, recoveryCodes: codes };
  }

  /** Takes the second factor away. SIGN_IN_REFUSED: wrong password or code; NOT_FOUND: there is none. */
  async disableSecondFactor({ user, session }: SignedIn, proof: Proof, visit: Visit): Promise<Opened> {
    if (user.sealedSecret === null) throw new Refusal('NOT_FOUND', 'There is no second factor.');
    const proven = await this.#proveAgain(user, proof, visit, true);
    const change: UserChange = { secondFactor: null, whilePassword: proven.user.passwordHash };
    await this.#change(user, change, entryOf(user, 'second factor disabled', visit, { factor: proven.factor }));
    return this.#open(user, proven.user.passwordHash, visit, null, session.tokenHash, session.createdAt);
  }

  countRecoveryCodes(user: UserName): Promise<number> {
    return this.#store.countRecoveryCodes(user);
  }

  async signOut({ user, session }: SignedIn, visit: Visit): Promise<void> {
    await this.#store.endSessions(user, { sessionId: session.sessionId }, entryOf(user, 'signed out', visit));
  }

  /** Those that are still good, newest first. */
  async listSessions({ user }: SignedIn, nowMs: number): Promise<Session[]> {
    return (await this.#store.listSessions(user)).filter((session) => isLive(session, nowMs));
  }

  /** Ends one session of the user (NOT_FOUND), or without a sessionId all but this one. */
  async endSessions({ user, session }: SignedIn, sessionId: string | undefined, visit: Visit): Promise<void> {
    const which = sessionId === undefined ? { except: session.tokenHash } : { sessionId };
    const entry = entryOf(user, 'sessions ended', visit, { which: sessionId ?? 'all others' });
    const ended = await this.#store.endSessions(user, which, entry);
    if (ended === 0 && sessionId !== undefined)
      throw new Refusal('NOT_FOUND', 'There is no such session (any more).', { field: 'sessionId' });
  }

  /** Housekeeping: forgets sessions that have ended by themselves. */
  deleteExpired(nowMs: number): Promise<void> {
    const { createdBefore, seenBefore } = endedBefore(nowMs);
    return this.#store.deleteSessionsBefore(createdBefore, seenBefore);
  }

  /** Whoever is signed in proves it again, and may be told what was wrong. */
  async #proveAgain(user: User, proof: Proof, visit: Visit, asksFactor = false): Promise<Proven> {
    try {
      return await this.#attempts.prove(user, proof, visit, asksFactor);
    } catch (fault) {
      if (!(fault instanceof Refusal) || fault.code !== 'SIGN_IN_REFUSED') throw fault;
      throw asksFactor
        ? new Refusal('SIGN_IN_REFUSED', 'The password or the code is wrong, or the code was used before.')
        : new Refusal('SIGN_IN_REFUSED', 'The password is wrong.', { field: 'password' });
    }
  }

  async #findByLink(token: string, nowMs: number): Promise<User> {
    const linkHash = hashToken(token);
    const user = linkHash && (await this.#store.findUserByLink(linkHash));
    if (!user?.link || Date.parse(user.link.endsAt) <= nowMs) throw new Refusal('LINK_INVALID');
    return user;
  }

  /** Carries out what a password was proven for; when it, or the user, is another by now, that proof is none. */
  async #change(user: User, change: UserChange, entry: AuditEntry): Promise<void> {
    const outcome: Outcome<void> = await this.#store.updateUser(user, change, entry);
    if (outcome instanceof Refusal) throw outcome.code === 'NOT_FOUND' ? refusal() : outcome;
  }

  /**
   * Opens a session for whoever proved this password hash. It is read back: when the password was changed between the proof and now, which ended all
   * sessions but could not end this one, it ends here.
   */
  async #open(
    user: User,
    proven: PasswordHash,
    visit: Visit,
    entry: AuditEntry | null,
    replaces?: Buffer | Uint8Array,
    createdAt?: string,
  ): Promise<Opened> {
    const { teamId, email } = user;
    const token = newToken();
    const tokenHash = hashToken(token)!;
    const now = new Date(visit.nowMs).toISOString();
    const agent = Array.from(visit.agent).slice(0, AGENT_CHARACTERS_MAX).join('');
    const session: Session = {
      teamId,
      email,
      tokenHash,
      sessionId: randomUUID(),
      createdAt: createdAt ?? now,
      seenAt: now,
      client: visit.client,
      agent,
    };
    await this.#store.openSession(session, entry, replaces);
    const signedIn = await this.#store.findSession(tokenHash);
    if (signedIn?.user.passwordHash === proven) return { token, signedIn };
    if (signedIn)
      await this.#store.endSessions(
        user,
        { sessionId: session.sessionId },
        entryOf(user, 'sessions ended', visit, { which: session.sessionId, reason: 'password changed' }),
      );
    throw refusal();
  }
}

function entryOf(
  { email }: UserName,
  action: string,
  { nowMs, client }: Visit,
  detail: Record<string, string> = {},
): AuditEntry {
  return { at: new Date(nowMs).toISOString(), actor: email, action, target: email, client, detail };
}
