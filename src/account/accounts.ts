/**
 * Begin here: users sign in and out, and manage their own account (links, sessions, password, second factor). Every use
 * case that checks a password returns a new session token and ends the previous one. Source: decision 0023.
 */
import { randomUUID } from 'node:crypto';
import type { AuditEntry } from '../audit/audit.ts';
import { Refusal, refuseField } from '../errors.ts';
import { formatTime } from '../clock.ts';
import {
  admitStranger,
  admitUser,
  ownEntry,
  prove,
  proveAgain,
  takeClient,
  type ClientContext,
  type OwnVisit,
  type Proof,
  type Proven,
  type Visit,
} from './attempts.ts';
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
import type { PasswordHash, Session, SessionStore, SignedIn, User, UserChange } from './account-port.ts';

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

/**
 * Opens a session and ends the session with the token `replaces`. Throws SIGN_IN_REFUSED, SECOND_FACTOR_NEEDED,
 * TOO_MANY_ATTEMPTS or SERVICE_BUSY.
 */
export async function signIn(
  visit: Visit,
  request: Proof & { teamID: string; email: string },
  replaces = '',
): Promise<OpenedSession> {
  const email = parseEmail(request.email);
  const name = { teamId: request.teamID, email: email instanceof Refusal ? '' : email };
  const { user, factor } = await prove(visit, name, request);
  const entry = ownEntry(user, 'signed in', visit.client, { factor });
  return beginSession(visit, user, user.passwordHash, entry, hashToken(replaces));
}

/**
 * Checks password and second factor again, for changes that need a recent proof, and continues the session under a new
 * token. Throws SIGN_IN_REFUSED, SECOND_FACTOR_NEEDED or TOO_MANY_ATTEMPTS.
 */
export const confirmPassword = async (visit: OwnVisit, proof: Proof): Promise<OpenedSession> =>
  renewSession(visit, await checkProof(visit, proof));

/** Returns the session of a token; undefined when it has ended. */
export async function loadSession(sessions: SessionStore, token: string, nowMs: number): Promise<SignedIn | undefined> {
  const tokenHash = hashToken(token);
  const signedIn = tokenHash && (await sessions.findSession(tokenHash));
  if (!signedIn || !isLive(signedIn.session, nowMs)) return undefined;
  if (isToTouch(signedIn.session, nowMs))
    await sessions.updateSession(signedIn.session.tokenHash, { seenAt: formatTime(nowMs) });
  return signedIn;
}

/** Returns the name of the user for whom a link was issued. Throws LINK_INVALID or TOO_MANY_ATTEMPTS. */
export async function checkLink(visit: Visit, { token }: { readonly token: string }) {
  takeClient(visit);
  const { teamId: teamID, email } = await findByLink(visit, token);
  return { teamID, email };
}

/**
 * Sets the password, removes the second factor, ends all sessions and opens a new one. Throws LINK_INVALID,
 * WEAK_PASSWORD or TOO_MANY_ATTEMPTS.
 */
export const useLink = (
  visit: Visit,
  { token, password }: Readonly<Record<'token' | 'password', string>>,
): Promise<OpenedSession> =>
  admitStranger(visit, async () => {
    const { users, client } = visit;
    const user = await findByLink(visit, token);
    await checkStrength(password, user);
    const { hash } = await hashPassword(password);
    const change: UserChange = {
      set: { ...passwordFields(hash, client), ...NO_FACTOR, linkHash: null, linkEndsAt: '' },
      recoveryHashes: [],
      endSessions: 'all',
      whileProven: user,
    };
    const detail = user.sealedSecret ? { factor: 'disabled' } : {};
    const outcome = await users.updateUser(user, change, ownEntry(user, 'password set by link', client, detail));
    // Someone may have used the link in the meantime and set another password.
    if (outcome instanceof Refusal) throw new Refusal('LINK_INVALID');
    return beginSession(visit, user, hash, null);
  });

/**
 * Changes the password, keeps the second factor, and ends all other sessions. Throws SIGN_IN_REFUSED if the old password
 * is wrong, and WEAK_PASSWORD if the new one is weak.
 */
export async function changePassword(
  visit: OwnVisit,
  { password, newPassword }: Readonly<Record<'password' | 'newPassword', string>>,
): Promise<OpenedSession> {
  const { user, session } = visit.signedIn;
  if (newPassword === password)
    throw refuseField('WEAK_PASSWORD', 'newPassword', 'The new password is the same as the old one. Choose another.');
  // The strength check is expensive, so it runs only after the throttle.
  const proven = await checkProof(visit, { password }, false);
  try {
    await checkStrength(newPassword, user, 'newPassword');
  } catch (fault) {
    await proven.undo();
    throw fault;
  }
  const { hash, key } = await admitUser(visit, 1, () => hashPassword(newPassword));
  const sealed = proven.user.sealedSecret;
  const sealedSecret = sealed && sealSecret(openSecret(sealed, proven.key, user), key, user);
  const change: UserChange = {
    set: { ...passwordFields(hash, visit.client), sealedSecret },
    endSessions: { except: session.tokenHash },
  };
  return saveProven(visit, proven, change, ownEntry(user, 'password changed', visit.client), hash);
}

/** Returns a new secret. It is stored once enableSecondFactor receives it with a valid code. */
export async function beginSecondFactor({ signedIn }: Pick<OwnVisit, 'signedIn'>) {
  const secret = newSecret();
  return { secret: encodeBase32(secret), uri: formatUri(signedIn.user, secret) };
}

/**
 * Enables the second factor. To replace one, `presentCode` has to be a code of the present one. Throws SIGN_IN_REFUSED
 * if the password or a code is wrong, SECOND_FACTOR_NEEDED, and INVALID_VALUE for a malformed secret.
 */
export async function enableSecondFactor(
  visit: OwnVisit,
  sent: Readonly<Record<'password' | 'secret' | 'code', string>> & { readonly presentCode?: string | undefined },
) {
  const { client, signedIn } = visit;
  const { user } = signedIn;
  const secret = parseSecret(sent.secret);
  if (!secret)
    throw refuseField('INVALID_VALUE', 'secret', 'secret must be the 32 characters that the dashboard showed.');
  // The caller sent the secret as well, so a wrong code is not a guess and is not counted.
  const step = findStep(secret, sent.code, client.nowMs);
  if (step === undefined) throw refuseField('SIGN_IN_REFUSED', 'code', WRONG_CODE);
  const proven = await checkProof(visit, { ...sent, code: sent.presentCode });
  const { codes, hashes } = newRecoveryCodes();
  const change = {
    set: { sealedSecret: sealSecret(secret, proven.key, user), lastStep: step },
    recoveryHashes: hashes,
  };
  const entry = ownEntry(user, 'second factor enabled', client, { factor: proven.factor });
  return { ...(await saveProven(visit, proven, change, entry)), recoveryCodes: codes };
}

/**
 * Disables the second factor. Throws SIGN_IN_REFUSED if the password or the code is wrong, and NOT_FOUND if there is no
 * second factor.
 */
export async function disableSecondFactor(visit: OwnVisit, proof: Proof): Promise<OpenedSession> {
  const { user } = visit.signedIn;
  if (user.sealedSecret === null) throw new Refusal('NOT_FOUND', 'Two-step verification is off for this account.');
  const proven = await checkProof(visit, proof);
  const entry = ownEntry(user, 'second factor disabled', visit.client, { factor: proven.factor });
  return saveProven(visit, proven, { set: NO_FACTOR, recoveryHashes: [] }, entry);
}

export async function signOut({ sessions, signedIn: { user, session }, client }: OwnVisit): Promise<void> {
  await sessions.endSessions(user, { sessionId: session.sessionId }, ownEntry(user, 'signed out', client));
}

/** Lists the sessions that have not ended, newest first. */
export const listLive = async ({ sessions, signedIn, client }: OwnVisit): Promise<Session[]> =>
  (await sessions.listSessions(signedIn.user)).filter((session) => isLive(session, client.nowMs));

/** Ends one session of the user, or all except this one. Throws NOT_FOUND if the user has no such session. */
export async function endOwnSessions(
  { sessions, signedIn: { user, session }, client }: OwnVisit,
  { sessionId }: { readonly sessionId?: string | undefined },
): Promise<void> {
  const which = sessionId === undefined ? { except: session.tokenHash } : { sessionId };
  const entry = ownEntry(user, 'sessions ended', client, { which: sessionId ?? 'all others' });
  const ended = await sessions.endSessions(user, which, entry);
  if (ended === 0 && sessionId !== undefined)
    throw refuseField('NOT_FOUND', 'sessionId', 'This session does not exist or has already ended.');
}

export const endedSessions = (sessions: SessionStore) => ({
  deleteExpired(nowMs: number): Promise<void> {
    const { createdBefore, seenBefore } = endedBefore(nowMs);
    return sessions.deleteSessionsBefore(createdBefore, seenBefore);
  },
});

/** Checks the proof of a signed-in user. Unlike a refused sign-in, the refusal says what was wrong. */
async function checkProof(visit: OwnVisit, proof: Proof, asksFactor = true): Promise<Proven> {
  try {
    return await proveAgain(visit, proof, asksFactor);
  } catch (fault) {
    if (!(fault instanceof Refusal) || fault.code !== 'SIGN_IN_REFUSED') throw fault;
    throw asksFactor && visit.signedIn.user.sealedSecret
      ? new Refusal('SIGN_IN_REFUSED', 'The password or the code is wrong, or the code was used before.')
      : refuseField('SIGN_IN_REFUSED', 'password', 'The password is wrong.');
  }
}

async function findByLink({ users, client }: Visit, token: string): Promise<User> {
  const linkHash = hashToken(token);
  const user = linkHash && (await users.findUserByLink(linkHash));
  if (!user || !(Date.parse(user.linkEndsAt) > client.nowMs)) throw new Refusal('LINK_INVALID');
  return user;
}

/**
 * Saves a change after a proof, and continues the session under a new token. Throws SIGN_IN_REFUSED if the password or
 * the second factor has changed since, or the user was deleted.
 */
async function saveProven(
  visit: OwnVisit,
  proven: Proven,
  change: UserChange,
  entry: AuditEntry,
  passwordHash?: PasswordHash,
): Promise<OpenedSession> {
  const outcome = await visit.users.updateUser(visit.signedIn.user, { ...change, whileProven: proven.user }, entry);
  if (outcome instanceof Refusal) throw new Refusal('SIGN_IN_REFUSED');
  return renewSession(visit, proven, passwordHash);
}

/** Continues the session under a new token. The session's latest end stays the same. */
async function renewSession(
  visit: OwnVisit,
  proven: Proven,
  passwordHash = proven.user.passwordHash,
): Promise<OpenedSession> {
  const { user, session } = visit.signedIn;
  const token = newToken();
  const now = formatTime(visit.client.nowMs);
  // A correct password must not reset the counter of wrong second factors.
  const isPart = proven.factor === 'password' && proven.user.sealedSecret !== null;
  const { failures, nextTryAt } = isPart ? proven.failures : NO_FAILURES;
  const renewal = { tokenHash: hashToken(token)!, seenAt: now, provenAt: now, failures, nextTryAt };
  await visit.sessions.updateSession(session.tokenHash, renewal);
  return loadOpened(visit, user, token, passwordHash);
}

/** Opens a session for the user who proved this password hash. Ends the session with the token hash `replaces`. */
async function beginSession(
  visit: Visit,
  user: User,
  passwordHash: PasswordHash,
  entry: AuditEntry | null,
  replaces?: Buffer,
): Promise<OpenedSession> {
  const { teamId, email } = user;
  const { nowMs, client, agent } = visit.client;
  const token = newToken();
  const now = formatTime(nowMs);
  const times = { createdAt: now, seenAt: now, provenAt: now };
  const opened = { sessionId: randomUUID(), client, agent, ...NO_FAILURES };
  await visit.sessions.openSession(
    { teamId, email, tokenHash: hashToken(token)!, ...times, ...opened },
    entry,
    replaces,
  );
  return loadOpened(visit, user, token, passwordHash);
}

/**
 * Loads a session that was just opened or renewed. If the password has changed since the proof, ends this session,
 * because the change may have missed it, and throws SIGN_IN_REFUSED.
 */
async function loadOpened(
  { sessions, client }: Visit,
  user: User,
  token: string,
  passwordHash: PasswordHash,
): Promise<OpenedSession> {
  const signedIn = await sessions.findSession(hashToken(token)!);
  if (signedIn?.user.passwordHash === passwordHash) return { token, signedIn };
  if (signedIn) {
    const { sessionId } = signedIn.session;
    const entry = ownEntry(user, 'sessions ended', client, { which: sessionId, reason: 'password changed' });
    await sessions.endSessions(user, { sessionId }, entry);
  }
  throw new Refusal('SIGN_IN_REFUSED');
}
