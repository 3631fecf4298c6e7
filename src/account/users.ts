/** The users of a tenant, and the one-time links that set their passwords. Callers check the role of the actor. */
import { entryBy, type Actor } from '../audit/entry.ts';
import { formatTime } from '../clock.ts';
import { orThrow, Refusal, refuseField, type Outcome } from '../errors.ts';
import { EMAIL_CHARACTERS_MAX } from './account-bounds.ts';
import type { Failures, PasswordHash, UserChange, UserName, UserStore } from './account-port.ts';
import type { Role } from './roles.ts';
import { hashToken, newToken } from './sessions.ts';

export const NO_FAILURES: Failures = { failures: 0, nextTryAt: '' };
const LINK_MS = 72 * 3_600_000;
const EMAIL = /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u;

/** A new link. `token` is its last part, of which the store keeps only the hash. */
export interface IssuedLink {
  readonly token: string;
  /** UTC ISO 8601. */
  readonly endsAt: string;
}

/**
 * Returns an address trimmed and in lower case. Refuses (INVALID_VALUE) an address that does not look like
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
export interface LoadedUser {
  readonly role: Role;
  readonly passwordHash: PasswordHash;
  readonly owners: number;
}

/**
 * Decides every change of a user (null deletes the user), inside the store's transaction. Refuses with LAST_OWNER, or
 * with NOT_FOUND if there is no such user, or the password has changed since it was proven.
 */
export function checkUserChange(
  { email }: UserName,
  user: LoadedUser | undefined,
  change: UserChange | null,
): Refusal | undefined {
  if (!user || (change?.whilePassword ?? user.passwordHash) !== user.passwordHash)
    return refuseField('NOT_FOUND', 'email', `User '${email}' does not exist or was changed in the meantime.`);
  const role = change && (change.set?.role ?? user.role);
  const losesOwner = user.role === 'owner' && role !== 'owner';
  return losesOwner && user.owners <= 1 ? new Refusal('LAST_OWNER') : undefined;
}

/** Creates a user, who sets a password by the link within 72 hours. Throws INVALID_VALUE or USER_EXISTS. */
export async function inviteUser(
  users: UserStore,
  teamId: string,
  email: string,
  role: Role,
  actor: Actor,
): Promise<IssuedLink> {
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
export async function renewLink(users: UserStore, teamId: string, email: string, actor: Actor): Promise<IssuedLink> {
  const name = nameOf(teamId, email);
  const { link, issued } = newLink(actor.nowMs);
  orThrow(
    await users.updateUser(name, { set: { ...link, ...NO_FAILURES } }, entryBy(actor, 'link renewed', name.email)),
  );
  return issued;
}

/** Changes a role. Open sessions have it from their next request. Throws NOT_FOUND or LAST_OWNER. */
export async function changeRole(users: UserStore, teamId: string, email: string, role: Role, actor: Actor) {
  const name = nameOf(teamId, email);
  orThrow(await users.updateUser(name, { set: { role } }, entryBy(actor, 'role changed', name.email, { role })));
}

/** Deletes a user and ends the user's sessions. Throws NOT_FOUND or LAST_OWNER. */
export async function deleteUser(users: UserStore, teamId: string, email: string, actor: Actor) {
  const name = nameOf(teamId, email);
  orThrow(await users.deleteUser(name, entryBy(actor, 'user removed', name.email)));
}

const nameOf = (teamId: string, email: string): UserName => ({ teamId, email: orThrow(parseEmail(email)) });

function newLink(nowMs: number) {
  const token = newToken();
  const endsAt = formatTime(nowMs + LINK_MS);
  const issued: IssuedLink = { token, endsAt };
  return { link: { linkHash: hashToken(token)!, linkEndsAt: endsAt }, issued };
}
