/**
 * The users of a tenant: who there is and in which role, and the links with which they set their password. Refusals are thrown. Does not ask whether whoever
 * does it may (roles.ts), nor whether there is such a tenant; sends no e-mail. Source: decision 0023.
 */
import { orThrow, Refusal, type Outcome } from '../errors.ts';
import type { AuditEntry } from '../audit/entry.ts';
import type { Role } from './roles.ts';
import { hashToken, newToken } from './sessions.ts';
import type { Link, User, UserName, UserStore } from './port.ts';

const LINK_MS = 72 * 3_600_000;
const EMAIL_CHARACTERS_MAX = 254;
const EMAIL = /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u;

/** Who does it: an e-mail address or `command line`; when, and from which address ('' for the command line). */
export interface Actor {
  readonly nowMs: number;
  readonly actor: string;
  readonly client: string;
}

/** `token` is the last part of the link; it exists only here and there. */
export interface IssuedLink {
  readonly token: string;
  /** UTC ISO 8601. */
  readonly endsAt: string;
}

/** The address as it is kept: trimmed, lower case. INVALID_VALUE unless it has one @ with something on both sides and no spaces, within 254 characters. */
export function parseEmail(text: string): Outcome<string> {
  const email = text.trim().toLowerCase();
  if (email.length <= EMAIL_CHARACTERS_MAX && EMAIL.test(email)) return email;
  const message = `email must be an address such as ann@example.com, of at most ${EMAIL_CHARACTERS_MAX} characters and without spaces.`;
  return new Refusal('INVALID_VALUE', message, { field: 'email' });
}

export class Users {
  readonly #store: UserStore;

  constructor(store: UserStore) {
    this.#store = store;
  }

  /** Makes a user, who sets a password by the link within 72 hours. INVALID_VALUE, USER_EXISTS. */
  async inviteUser(teamId: string, email: string, role: Role, actor: Actor): Promise<IssuedLink> {
    const name = nameOf(teamId, email);
    const { link, issued } = newLink(actor.nowMs);
    const createdAt = new Date(actor.nowMs).toISOString();
    orThrow(
      await this.#store.createUser({ ...name, role, createdAt, link }, entryOf(name, 'user invited', actor, { role })),
    );
    return issued;
  }

  /** Gives a new link, for a forgotten password, a lost second factor or too many failures; one before it ends. NOT_FOUND. */
  async renewLink(teamId: string, email: string, actor: Actor): Promise<IssuedLink> {
    const name = nameOf(teamId, email);
    const { link, issued } = newLink(actor.nowMs);
    orThrow(await this.#store.updateUser(name, { link }, entryOf(name, 'link renewed', actor)));
    return issued;
  }

  /** NOT_FOUND, LAST_OWNER. Holds for sessions that are open, from their next request on. */
  async changeRole(teamId: string, email: string, role: Role, actor: Actor): Promise<void> {
    const name = nameOf(teamId, email);
    orThrow(await this.#store.updateUser(name, { role }, entryOf(name, 'role changed', actor, { role })));
  }

  /** Ends the user's sessions too. NOT_FOUND, LAST_OWNER. */
  async deleteUser(teamId: string, email: string, actor: Actor): Promise<void> {
    const name = nameOf(teamId, email);
    orThrow(await this.#store.deleteUser(name, entryOf(name, 'user removed', actor)));
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

const entryOf = (
  { email }: UserName,
  action: string,
  { nowMs, actor, client }: Actor,
  detail: Record<string, string> = {},
): AuditEntry => ({
  at: new Date(nowMs).toISOString(),
  actor,
  action,
  target: email,
  client,
  detail,
});
