/**
 * The rules for the users of a tenant, the one-time links that set their passwords, the tokens and ends of their
 * sessions, and recent proofs of identity: a stolen session must not give control over the tenant. Callers check the
 * role of the actor. Source: decision 0023.
 */
import { hash, randomBytes } from 'node:crypto';
import { entryBy, type Actor, type AuditEntry } from '../audit/audit.ts';
import { formatTime, MINUTE_MS } from '../clock.ts';
import { orThrow, Refusal, refuseField, type Outcome } from '../errors.ts';
import { EMAIL_CHARACTERS_MAX, PROOF_MINUTES, SESSION_HOURS, SESSION_IDLE_MINUTES } from './account-bounds.ts';
import type {
  Failures,
  ProvenFactors,
  Session,
  SignedIn,
  User,
  UserChange,
  UserName,
  UserStore,
} from './account-port.ts';
import type { Role } from './roles.ts';

const IDLE_MS = SESSION_IDLE_MINUTES * MINUTE_MS;
const ABSOLUTE_MS = SESSION_HOURS * 60 * MINUTE_MS;
/** Maximum difference between the clocks of nodes. */
const SKEW_MS = MINUTE_MS;
const TOUCH_MS = MINUTE_MS;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Creates a token for a session or a link: 32 random bytes in base64url. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** Returns the hash that the store keeps of a token; undefined when the text is not a token. */
export const hashToken = (token: string): Buffer | undefined =>
  TOKEN.test(token) ? hash('sha256', token, 'buffer') : undefined;

/** Returns whether a session was seen in the last 30 minutes and opened in the last 12 hours, and not in the future. */
export function isLive({ createdAt, seenAt }: Pick<Session, 'createdAt' | 'seenAt'>, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(createdAt);
  const idleMs = nowMs - Date.parse(seenAt);
  return ageMs < ABSOLUTE_MS && idleMs < IDLE_MS && ageMs >= -SKEW_MS && idleMs >= -SKEW_MS;
}

/** Returns the latest end of a session, UTC ISO 8601. */
export const endOfSession = ({ createdAt }: Pick<Session, 'createdAt'>): string =>
  formatTime(Date.parse(createdAt) + ABSOLUTE_MS);

/** Returns whether to save a new seenAt: at most once a minute, and never an earlier time. */
export const isToTouch = ({ seenAt }: Pick<Session, 'seenAt'>, nowMs: number): boolean =>
  nowMs - Date.parse(seenAt) >= TOUCH_MS;

/** Returns two times: sessions that were opened, or last seen, before them have ended. */
export const endedBefore = (nowMs: number) => ({
  createdBefore: formatTime(nowMs - ABSOLUTE_MS),
  seenBefore: formatTime(nowMs - IDLE_MS),
});

/**
 * The proof that a change needs. `recent`: a proof from the last five minutes. `sent`: the password in the request
 * itself. `none`: no proof, because the change gives no one more rights.
 */
export type ProofNeed = 'recent' | 'sent' | 'none';

const PROOF_MS = PROOF_MINUTES * 60_000;

/** Returns whether the last sign-in, link or confirmed password is recent. An unreadable or future time is not. */
export function isProven({ provenAt }: Pick<Session, 'provenAt'>, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(provenAt);
  return ageMs < PROOF_MS && ageMs >= -SKEW_MS;
}

/** Throws PROOF_NEEDED if the session has no recent proof. */
export function requireProof({ session }: SignedIn, nowMs: number): void {
  if (!isProven(session, nowMs)) throw new Refusal('PROOF_NEEDED');
}

export const NO_FAILURES: Failures = { failures: 0, nextTryAt: '' };
const LINK_MS = 72 * 3_600_000;
const EMAIL = /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u;

/** A new link. `token` is its last part, of which the store keeps only the hash. */
export interface IssuedLink {
  readonly token: string;
  /** UTC ISO 8601. */
  readonly endsAt: string;
}

/** Formats a one-time link. The token follows the #, so that browsers do not send it and no server or proxy logs it. */
export const formatLink = (origin: string, token: string): string => `${origin}/dashboard/link#${token}`;

/**
 * Returns an address trimmed and in lowercase. Refuses (INVALID_VALUE) an address that does not look like
 * `ann@example.com` or has more than 254 characters.
 */
export function parseEmail(text: string): Outcome<string> {
  const email = text.trim().toLowerCase();
  if (email.length <= EMAIL_CHARACTERS_MAX && EMAIL.test(email)) return email;
  const form = `of at most ${EMAIL_CHARACTERS_MAX} characters and without spaces`;
  const message = `email must be an address such as ann@example.com, ${form}.`;
  return refuseField('INVALID_VALUE', 'email', message);
}

/** The data that decides whether a change to a user is allowed. `owners` is the number of owners of the tenant. */
export interface LoadedUser extends ProvenFactors {
  readonly role: Role;
  readonly owners: number;
}

/**
 * Decides every change of a user (null deletes the user), inside the store's transaction. Refuses with LAST_OWNER, or
 * with NOT_FOUND if there is no such user, or the password or the second factor has changed since it was proven.
 */
export function checkUserChange(
  { email }: UserName,
  user: LoadedUser | undefined,
  change: UserChange | null,
): Refusal | undefined {
  if (!user || factorsOf(change?.whileProven ?? user) !== factorsOf(user))
    return refuseField('NOT_FOUND', 'email', `User '${email}' does not exist or was changed in the meantime.`);
  const role = change && (change.set?.role ?? user.role);
  const losesOwner = user.role === 'owner' && role !== 'owner';
  return losesOwner && user.owners <= 1 ? new Refusal('LAST_OWNER') : undefined;
}

const factorsOf = ({ passwordHash, sealedSecret }: ProvenFactors) => `${passwordHash} ${sealedSecret?.toHex()}`;

/** Who changes the users of which team. */
interface UsersContext {
  readonly users: UserStore;
  readonly teamId: string;
  readonly actor: Actor;
}
type GivenUser = Pick<User, 'email'>;
type GivenRole = Pick<User, 'email' | 'role'>;

/** Creates a user, who sets a password through the link within 72 hours. Throws INVALID_VALUE or USER_EXISTS. */
export async function inviteUser(context: UsersContext, { email, role }: GivenRole): Promise<IssuedLink> {
  const { users, teamId, actor } = context;
  const name = nameOf(teamId, email);
  const { link, issued } = newLink(actor.nowMs);
  const entry = entryBy(actor, 'user invited', name.email, { role });
  orThrow(await users.createUser({ ...name, role, createdAt: entry.at, ...link }, entry));
  return issued;
}

/**
 * Issues a link for a forgotten password, a lost second factor or a locked account, and ends the previous link.
 * Throws NOT_FOUND.
 */
export async function renewLink(context: UsersContext, { email }: GivenUser): Promise<IssuedLink> {
  const { link, issued } = newLink(context.actor.nowMs);
  await saveUser(context, email, { set: { ...link, ...NO_FAILURES } }, 'link renewed');
  return issued;
}

/** Changes a role. Open sessions have the new role from their next request. Throws NOT_FOUND or LAST_OWNER. */
export const changeRole = (context: UsersContext, { email, role }: GivenRole): Promise<void> =>
  saveUser(context, email, { set: { role } }, 'role changed', { role });

/** Ends all sessions of a user. The password and a link that was printed keep working. Throws NOT_FOUND. */
export const signOutUser = (context: UsersContext, { email }: GivenUser): Promise<void> =>
  saveUser(context, email, { endSessions: 'all' }, 'sessions ended', { which: 'all' });

async function saveUser(
  { users, teamId, actor }: UsersContext,
  email: string,
  change: UserChange,
  action: string,
  detail?: AuditEntry['detail'],
) {
  const name = nameOf(teamId, email);
  orThrow(await users.updateUser(name, change, entryBy(actor, action, name.email, detail)));
}

/** Deletes a user and ends the user's sessions. Throws NOT_FOUND or LAST_OWNER. */
export async function deleteUser({ users, teamId, actor }: UsersContext, { email }: GivenUser): Promise<void> {
  const name = nameOf(teamId, email);
  orThrow(await users.deleteUser(name, entryBy(actor, 'user removed', name.email)));
}

/** Returns what people see of a user. */
export const viewUser = ({ email, role, createdAt, passwordHash, sealedSecret }: User) => ({
  email,
  role,
  createdAt,
  hasPassword: passwordHash !== '',
  hasSecondFactor: sealedSecret !== null,
});

const nameOf = (teamId: string, email: string): UserName => ({ teamId, email: orThrow(parseEmail(email)) });

function newLink(nowMs: number) {
  const token = newToken();
  const endsAt = formatTime(nowMs + LINK_MS);
  const issued: IssuedLink = { token, endsAt };
  return { link: { linkHash: hashToken(token)!, linkEndsAt: endsAt }, issued };
}
