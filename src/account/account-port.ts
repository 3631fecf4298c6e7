/**
 * The ports for the users of a tenant and their sessions, implemented under store/. Each method is one transaction, and
 * a method with an `entry` appends it to the audit log in the same transaction.
 */
import type { Outcome } from '../errors.ts';
import type { AuditEntry } from '../audit/entry.ts';
import type { Tenant } from '../tenant/tenant-port.ts';
import type { Role } from './roles.ts';

/** The name of a user. The e-mail address is in lower case, and each address is unique within its tenant. */
export interface UserName {
  readonly teamId: string;
  readonly email: string;
}

/** A one-time link for setting a password. The store keeps only the SHA-256 of its token. */
export interface Link {
  readonly hash: Uint8Array;
  /** UTC ISO 8601. */
  readonly endsAt: string;
}

/** The parameters, salt and verifier of a password in one text, as password.ts formats them. */
export type PasswordHash = string;

export interface User extends UserName {
  readonly role: Role;
  readonly createdAt: string;
  /** '' until the user has set a password by the link. */
  readonly passwordHash: PasswordHash;
  readonly passwordSetAt: string;
  /** The TOTP secret, sealed with a key derived from the password; null without a second factor. */
  readonly sealedSecret: Uint8Array | null;
  /** The last time step whose code was used, since each code is valid once. */
  readonly lastStep: number;
  /** The number of sign-ins that failed since the last successful one. */
  readonly failures: number;
  /** Attempts before this time are refused; '' when there is no wait. */
  readonly nextTryAt: string;
  readonly link: Link | null;
}

/** A change of a user. Members that are left out stay unchanged. */
export interface UserChange {
  readonly role?: Role;
  readonly password?: { readonly hash: PasswordHash; readonly setAt: string };
  /** null removes the second factor and its recovery codes. */
  readonly secondFactor?: {
    readonly sealedSecret: Uint8Array;
    readonly lastStep: number;
    readonly recoveryHashes: readonly Uint8Array[];
  } | null;
  /** The secret of the second factor, sealed with the key of a new password. Recovery codes stay valid. */
  readonly sealedSecret?: Uint8Array;
  /** null removes the link, once it was used. */
  readonly link?: Link | null;
  readonly forgetFailures?: true;
  /** The hash of the password that was proven. The change is refused (NOT_FOUND) if the user has another one now. */
  readonly whilePassword?: PasswordHash;
  readonly endSessions?: SessionChoice;
}

export type SessionChoice = 'all' | { readonly except: Uint8Array } | { readonly sessionId: string };

export interface UserStore {
  findUser(name: UserName): Promise<User | undefined>;
  findUserByLink(linkHash: Uint8Array): Promise<User | undefined>;
  /** Lists the users of a team by e-mail address. */
  listUsers(teamId: string): Promise<User[]>;
  /** Refuses (USER_EXISTS) when the team has a user with this address. */
  createUser(user: UserName & { role: Role; createdAt: string; link: Link }, entry: AuditEntry): Promise<Outcome<void>>;
  /** Refuses (NOT_FOUND, LAST_OWNER) what checkUserChange of users.ts refuses inside the transaction. */
  updateUser(name: UserName, change: UserChange, entry: AuditEntry): Promise<Outcome<void>>;
  /** Deletes a user and ends the user's sessions. Refuses with NOT_FOUND or LAST_OWNER. */
  deleteUser(name: UserName, entry: AuditEntry): Promise<Outcome<void>>;
  /** Counts an attempt before it is checked. Returns false when another was counted since `failures` was loaded. */
  countAttempt(name: UserName, failures: number, nextTryAt: string): Promise<boolean>;
  /** Undoes the attempt that was counted after `failures` others, unless another was counted since. */
  undoAttempt(name: UserName, failures: number, nextTryAt: string): Promise<void>;
  /** Uses up a TOTP time step. Returns false when it, or a later one, was used before. */
  useStep(name: UserName, step: number): Promise<boolean>;
  /** Uses up a recovery code. Returns false when the user has none with this hash, or has already used it. */
  useRecoveryCode(name: UserName, hash: Uint8Array): Promise<boolean>;
  countRecoveryCodes(name: UserName): Promise<number>;
}

export interface Session extends UserName {
  /** SHA-256 of the token in the cookie. */
  readonly tokenHash: Uint8Array;
  readonly sessionId: string;
  readonly createdAt: string;
  readonly seenAt: string;
  /** The address that opened it. */
  readonly client: string;
  /** The User-Agent, cut to 200 characters. */
  readonly agent: string;
  /** Time of the user's last proof of identity in this session, UTC ISO 8601; '' if it is not known. */
  readonly provenAt: string;
  /** The number of proofs that failed in this session since the last successful one. Failed sign-ins do not count. */
  readonly failures: number;
  /** Proofs before this time are refused; '' when there is no wait. */
  readonly nextTryAt: string;
}

/** The members of a session that a new proof changes. The session continues under another token. */
type SessionRenewal = Pick<Session, 'tokenHash' | 'seenAt' | 'provenAt' | 'failures' | 'nextTryAt'>;

export interface SignedIn {
  readonly session: Session;
  readonly user: User;
  readonly tenant: Tenant;
}

export interface SessionStore {
  /** Returns the current session; undefined when it was ended. The caller decides whether it is too old. */
  findSession(tokenHash: Uint8Array): Promise<SignedIn | undefined>;
  /** Inserts a session, resets the user's failures, and ends the session with the token hash `replaces`. */
  openSession(session: Session, entry: AuditEntry | null, replaces?: Uint8Array): Promise<void>;
  touchSession(tokenHash: Uint8Array, seenAt: string): Promise<void>;
  /** Returns false when the session has ended. */
  renewSession(tokenHash: Uint8Array, renewal: SessionRenewal): Promise<boolean>;
  /** Counts a proof before it is checked. Returns false when another was counted since `failures` was loaded. */
  countAttempt(tokenHash: Uint8Array, failures: number, nextTryAt: string): Promise<boolean>;
  /** Undoes the proof that was counted after `failures` others, unless another was counted since. */
  undoAttempt(tokenHash: Uint8Array, failures: number, nextTryAt: string): Promise<void>;
  /** Lists the sessions of a user, newest first. */
  listSessions(name: UserName): Promise<Session[]>;
  /** Ends sessions of the user and returns their number. Appends the entry only if there was a session to end. */
  endSessions(name: UserName, which: SessionChoice, entry: AuditEntry): Promise<number>;
  deleteSessionsBefore(createdBefore: string, seenBefore: string): Promise<void>;
}
