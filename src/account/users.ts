/** The users of a tenant, and the one-time links that set their passwords. Callers check the role of who asks. */
import { entryBy, type Actor } from '../audit/entry.ts';
import { orThrow, Refusal, type Outcome } from '../errors.ts';
import { EMAIL_CHARACTERS_MAX } from './account-bounds.ts';
import type { Link, PasswordHash, User, UserName, UserStore } from './account-port.ts';
import type { Role } from './roles.ts';
import { hashToken, newToken } from './sessions.ts';

const LINK_MS = 72 * 3_600_000;
const EMAIL = /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u;

/** `token` is the last part of the link. The store has only its hash. */
export interface IssuedLink {
  readonly token: string;
  /** UTC ISO 8601. */
  readonly endsAt: string;
}

/** Trimmed, lower case. INVALID_VALUE unless it is like `ann@example.com` and has at most 254 characters. */
export function parseEmail(text: string): Outcome<string> {
  const email = text.trim().toLowerCase();
  if (email.length <= EMAIL_CHARACTERS_MAX && EMAIL.test(email)) return email;
  const form = `of at most ${EMAIL_CHARACTERS_MAX} characters and without spaces`;
  const message = `email must be an address such as ann@example.com, ${form}.`;
  return new Refusal('INVALID_VALUE', message, { field: 'email' });
}

/** What the store knows of a user when a change is decided: `owners` is the number of owners of the tenant. */
export interface LoadedUser {
  readonly role: Role;
  readonly passwordHash: PasswordHash;
  readonly owners: number;
}

/**
 * The rule of every change of a user (`role: null` deletes), asked inside the store's transaction. LAST_OWNER.
 * NOT_FOUND: there is no such user, or the password is no longer the one that was proven.
 */
export function checkUserChange(
  { email }: UserName,
  user: LoadedUser | undefined,
  { role, whilePassword }: { readonly role?: Role | null; readonly whilePassword?: PasswordHash },
): Refusal | undefined {
  if (!user || (whilePassword !== undefined && whilePassword !== user.passwordHash))
    return new Refusal('NOT_FOUND', `There is no user '${email}', or not any more as it was.`, { field: 'email' });
  const losesOwner = user.role === 'owner' && role !== undefined && role !== 'owner';
  return losesOwner && user.owners <= 1 ? new Refusal('LAST_OWNER') : undefined;
}

export class Users {
  readonly #store: UserStore;

  constructor(store: UserStore) {
    this.#store = store;
  }

  /** Creates a user, who sets a password by the link within 72 hours. INVALID_VALUE, USER_EXISTS. */
  async inviteUser(teamId: string, email: string, role: Role, actor: Actor): Promise<IssuedLink> {
    const name = nameOf(teamId, email);
    const { link, issued } = newLink(actor.nowMs);
    const createdAt = new Date(actor.nowMs).toISOString();
    const entry = entryBy(actor, 'user invited', name.email, { role });
    orThrow(await this.#store.createUser({ ...name, role, createdAt, link }, entry));
    return issued;
  }

  /** For a forgotten password, a lost second factor or too many failures. Ends the link before it. NOT_FOUND. */
  async renewLink(teamId: string, email: string, actor: Actor): Promise<IssuedLink> {
    const name = nameOf(teamId, email);
    const { link, issued } = newLink(actor.nowMs);
    const entry = entryBy(actor, 'link renewed', name.email);
    orThrow(await this.#store.updateUser(name, { link, forgetFailures: true }, entry));
    return issued;
  }

  /** NOT_FOUND, LAST_OWNER. Open sessions have the new role from their next request on. */
  async changeRole(teamId: string, email: string, role: Role, actor: Actor): Promise<void> {
    const name = nameOf(teamId, email);
    orThrow(await this.#store.updateUser(name, { role }, entryBy(actor, 'role changed', name.email, { role })));
  }

  /** Ends the user's sessions too. NOT_FOUND, LAST_OWNER. */
  async deleteUser(teamId: string, email: string, actor: Actor): Promise<void> {
    const name = nameOf(teamId, email);
    orThrow(await this.#store.deleteUser(name, entryBy(actor, 'user removed', name.email)));
  }

  listUsers(teamId: string): Promise<User[]> {
    return this.#store.listUsers(teamId);
  }
}

const nameOf = (teamId: string, email: string): UserName => ({ teamId, email: orThrow(parseEmail(email)) });

function newLink(nowMs: number): { link: Link; issued: IssuedLink } {
  const token = newToken();
  const endsAt = new Date(nowMs + LINK_MS).toISOString();
  return { link: { hash: hashToken(token)!, endsAt }, issued: { token, endsAt } };
}
