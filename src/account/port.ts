/**
 * Ports: the users of a tenant and their sessions. Implemented under store/. Types only.
 * One method is one transaction and one durable fact; a method with an `entry` appends it to the audit log in that transaction.
 */
import type { Outcome } from '../errors.ts';
import type { AuditEntry } from '../audit/entry.ts';
import type { Tenant } from '../tenant/port.ts';
import type { Role } from './roles.ts';

/** Names a user: e-mail addresses are kept in lower case and belong to one tenant each. */
export interface UserName {
  readonly teamId: string;
  readonly email: string;
}

/** A one-time link with which a password is set. Only the SHA-256 of its token is kept. */
export interface Link {
  readonly hash: Uint8Array;
  /** UTC ISO 8601. */
  readonly endsAt: string;
}

/** What password.ts made of a password: parameters, salt and verifier in one text. */
export type PasswordHash = string;

export interface User extends UserName {
  readonly role: Role;
  readonly createdAt: string;
  /** '' until a password was set by the link. */
  readonly passwordHash: PasswordHash;
  readonly passwordSetAt: string;
  /** The TOTP secret, sealed with a key that only the password gives; null without a second factor. */
  readonly sealedSecret: Uint8Array | null;
  /** The last time step whose code was taken; a code is good once. */
  readonly lastStep: number;
  /** Sign-ins that failed since the last good one. */
  readonly failures: number;
  /** Before this time no further attempt is looked at; '' when there is none to wait for. */
  readonly nextTryAt: string;
  readonly link: Link | null;
}

/** What can be changed of a user; what is left out stays. */
export interface UserChange {
  readonly role?: Role;
  readonly password?: { readonly hash: PasswordHash; readonly setAt: string };
  /** null takes the second factor away, and its recovery codes with it. */
  readonly secondFactor?: {
    readonly sealedSecret: Uint8Array;
    readonly lastStep: number;
    readonly recoveryHashes: readonly Uint8Array[];
  } | null;
  /** The secret sealed anew, for a new password; recovery codes stay. */
  readonly sealedSecret?: Uint8Array;
  /** null once it was used. A new link also forgets failed attempts. */
  readonly link?: Link | null;
  /** The change is made only while the user has this password hash, and is NOT_FOUND otherwise: what was proven by the old password no longer counts. */
  readonly whilePassword?: PasswordHash;
  /** Which of the user's sessions end: all, or all but the one with this token hash. */
  readonly endSessions?: 'all' | { readonly except: Uint8Array };
}

export interface UserStore {
  findUser(name: UserName): Promise<User | undefined>;
  /** The user whose link has this hash, whenever it ends. */
  findUserByLink(linkHash: Uint8Array): Promise<User | undefined>;
  /** By e-mail address. */
  listUsers(teamId: string): Promise<User[]>;
  /** USER_EXISTS when there is one with this address. */
  createUser(user: UserName & { role: Role; createdAt: string; link: Link }, entry: AuditEntry): Promise<Outcome<void>>;
  /** NOT_FOUND when there is no such user; LAST_OWNER when the tenant would be left without an owner. */
  updateUser(name: UserName, change: UserChange, entry: AuditEntry): Promise<Outcome<void>>;
  /** Ends the user's sessions too. NOT_FOUND, LAST_OWNER. */
  deleteUser(name: UserName, entry: AuditEntry): Promise<Outcome<void>>;
  /** Counts an attempt before it is looked at: false when another was counted since `failures` was read. */
  countAttempt(name: UserName, failures: number, nextTryAt: string): Promise<boolean>;
  /**
   * Gives back the attempt that was counted upon `failures`, which was no failure: `failures` and `nextTryAt` are again as they were before it.
   * Nothing happens when another attempt was counted since.
   */
  undoAttempt(name: UserName, failures: number, nextTryAt: string): Promise<void>;
  /** Takes a TOTP time step: false when it, or a later one, was taken before. */
  useStep(name: UserName, step: number): Promise<boolean>;
  /** Takes a recovery code: false when there is none with this hash (any more). */
  useRecoveryCode(name: UserName, hash: Uint8Array): Promise<boolean>;
  countRecoveryCodes(name: UserName): Promise<number>;
}

export interface Session extends UserName {
  /** SHA-256 of the token in the cookie. */
  readonly tokenHash: Uint8Array;
  /** Names the session in lists; tells nothing of the token. */
  readonly sessionId: string;
  readonly createdAt: string;
  readonly seenAt: string;
  /** Address it was opened from. */
  readonly client: string;
  /** User-Agent, cut to 200 characters. */
  readonly agent: string;
}

/** A session and whose it is, as they are now. */
export interface SignedIn {
  readonly session: Session;
  readonly user: User;
  readonly tenant: Tenant;
}

export interface SessionStore {
  /** Read anew for every request; undefined when it was ended. Whether it is too old is for its caller to say. */
  findSession(tokenHash: Uint8Array): Promise<SignedIn | undefined>;
  /** Opens a session and forgets failed attempts of its user. `replaces` ends there: a token is new after every sign-in. */
  openSession(session: Session, entry: AuditEntry | null, replaces?: Uint8Array): Promise<void>;
  touchSession(tokenHash: Uint8Array, seenAt: string): Promise<void>;
  /** Newest first. */
  listSessions(name: UserName): Promise<Session[]>;
  /** Ends one session of the user, or all; how many there were. */
  endSessions(
    name: UserName,
    which: 'all' | { readonly sessionId: string } | { readonly except: Uint8Array },
    entry: AuditEntry,
  ): Promise<number>;
  /** Forgets sessions opened, or last seen, before these times. */
  deleteSessionsBefore(createdBefore: string, seenBefore: string): Promise<void>;
}
