/**
 * The ports for the users of a tenant and their sessions, implemented under store/. Each method is one transaction, and
 * a method with an `entry` appends it to the audit log in the same transaction.
 */
import type { Outcome } from '../errors.ts';
import type { AuditEntry } from '../audit/audit.ts';
import type { Tenant } from '../tenant/tenant-port.ts';
import type { Role } from './roles.ts';

/** The name of a user. The email address is in lowercase, and each address is unique within its tenant. */
export interface UserName {
  readonly teamId: string;
  readonly email: string;
}

/** The failed attempts since the last successful one: sign-ins of a user, or proofs of identity in a session. */
export interface Failures {
  readonly failures: number;
  /** Attempts before this time are refused; '' when there is no wait. */
  readonly nextTryAt: string;
}

/** The parameters, salt and verifier of a password in one text, as password.ts formats them. */
export type PasswordHash = string;

export interface User extends UserName, Failures {
  readonly role: Role;
  readonly createdAt: string;
  /** '' until the user has set a password through the link. */
  readonly passwordHash: PasswordHash;
  readonly passwordSetAt: string;
  /** The TOTP secret, sealed with a key derived from the password; null without a second factor. */
  readonly sealedSecret: Uint8Array | null;
  /** The last time step whose code was used, since each code is valid once. */
  readonly lastStep: number;
  /** SHA-256 of the token of a one-time link for setting a password; null without a link. */
  readonly linkHash: Uint8Array | null;
  /** UTC ISO 8601; '' without a link. */
  readonly linkEndsAt: string;
}

/** A change of a user. Members that are left out stay unchanged. */
export interface UserChange {
  readonly set?: Partial<Omit<User, keyof UserName | 'createdAt'>>;
  /** The recovery codes that replace all earlier ones. */
  readonly recoveryHashes?: readonly Uint8Array[];
  /** The password and second factor that were proven. The change is refused (NOT_FOUND) if one has changed since. */
  readonly whileProven?: ProvenFactors;
  readonly endSessions?: SessionChoice;
}

export type ProvenFactors = Pick<User, 'passwordHash' | 'sealedSecret'>;

type NewUser = Pick<User, keyof UserName | 'role' | 'createdAt' | 'linkHash' | 'linkEndsAt'>;

export type SessionChoice = 'all' | { readonly except: Uint8Array } | { readonly sessionId: string };

export interface UserStore {
  findUser(name: UserName): Promise<User | undefined>;
  findUserByLink(linkHash: Uint8Array): Promise<User | undefined>;
  /** Lists the users of a team, sorted by email address. */
  listUsers(teamId: string): Promise<User[]>;
  /** Refuses (USER_EXISTS) when the team has a user with this address. */
  createUser(user: NewUser, entry: AuditEntry): Promise<Outcome<void>>;
  /** Updates a user. Refuses with NOT_FOUND or LAST_OWNER what checkUserChange refuses inside the transaction. */
  updateUser(name: UserName, change: UserChange, entry: AuditEntry): Promise<Outcome<void>>;
  /** Deletes a user and ends the user's sessions. Refuses with NOT_FOUND or LAST_OWNER. */
  deleteUser(name: UserName, entry: AuditEntry): Promise<Outcome<void>>;
  /** Counts an attempt, or undoes one. Returns false when the user no longer has `before` failures. */
  setFailures(name: UserName, before: number, after: Failures): Promise<boolean>;
  /** Loads the failures of a name without an account. */
  findUnknownFailures(name: UserName): Promise<Failures>;
  /**
   * Counts an attempt for a name without an account. Returns false when the name does not have one failure less. The
   * store keeps 65,536 names. A new name replaces one that no caller can choose.
   */
  countUnknownFailure(name: UserName, after: Failures): Promise<boolean>;
  /** Uses up a TOTP time step. Returns false when it, or a later one, was used before. */
  useStep(name: UserName, step: number): Promise<boolean>;
  /** Uses up a recovery code. Returns false when the user has none with this hash, or has already used it. */
  useRecoveryCode(name: UserName, hash: Uint8Array): Promise<boolean>;
  countRecoveryCodes(name: UserName): Promise<number>;
}

export interface Session extends UserName, Failures {
  /** SHA-256 of the token in the cookie. */
  readonly tokenHash: Uint8Array;
  readonly sessionId: string;
  readonly createdAt: string;
  readonly seenAt: string;
  /** The IP address that opened the session. */
  readonly client: string;
  /** The User-Agent, cut to 200 characters. */
  readonly agent: string;
  /** Time of the user's last proof of identity in this session, UTC ISO 8601. */
  readonly provenAt: string;
}

export interface SignedIn {
  readonly session: Session;
  readonly user: User;
  readonly tenant: Tenant;
}

export interface SessionStore {
  /** Loads a session, its user and its tenant; undefined when it was ended. The caller checks whether it is too old. */
  findSession(tokenHash: Uint8Array): Promise<SignedIn | undefined>;
  /**
   * Inserts a session, resets the user's failures, and ends the session with the token hash `replaces`. Throws
   * NOT_SIGNED_IN if the user was deleted in the meantime.
   */
  openSession(session: Session, entry: AuditEntry | null, replaces?: Uint8Array): Promise<void>;
  /**
   * Changes a session; with another token hash it continues under that token. Returns false when the session has ended,
   * or no longer has `failures` failures.
   */
  updateSession(tokenHash: Uint8Array, change: Partial<Session>, failures?: number): Promise<boolean>;
  /** Lists the sessions of a user, newest first. */
  listSessions(name: UserName): Promise<Session[]>;
  /** Ends sessions of the user and returns their number. Appends the entry only if there was a session to end. */
  endSessions(name: UserName, which: SessionChoice, entry: AuditEntry): Promise<number>;
  deleteSessionsBefore(createdBefore: string, seenBefore: string): Promise<void>;
}
