/**
 * Ports: the users of a tenant and their sessions. Implemented under store/. One method is one transaction; a method
 * with an `entry` appends it to the audit log in that transaction.
 */
import type { Outcome } from '../errors.ts';
import type { AuditEntry } from '../audit/entry.ts';
import type { Tenant } from '../tenant/tenant-port.ts';
import type { Role } from './roles.ts';

/** Names a user. E-mail addresses are kept in lower case and belong to one tenant each. */
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
  /** The last time step whose code was used. Each code is valid once. */
  readonly lastStep: number;
  /** Sign-ins that failed since the last good one. */
  readonly failures: number;
  /** Attempts before this time are refused; '' when there is no wait. */
  readonly nextTryAt: string;
  readonly link: Link | null;
}

/** A change of a user. What is left out stays. */
export interface UserChange {
  readonly role?: Role;
  readonly password?: { readonly hash: PasswordHash; readonly setAt: string };
  /** null takes the second factor away, and its recovery codes with it. */
  readonly secondFactor?: {
    readonly sealedSecret: Uint8Array;
    readonly lastStep: number;
    readonly recoveryHashes: readonly Uint8Array[];
  } | null;
  /** The secret of the second factor, sealed with a new password's key. Recovery codes stay. */
  readonly sealedSecret?: Uint8Array;
  /** null once it was used. */
  readonly link?: Link | null;
  readonly forgetFailures?: true;
  /** The hash of the password that was proven. NOT_FOUND when the user has another by now. */
  readonly whilePassword?: PasswordHash;
  readonly endSessions?: SessionChoice;
}

export type SessionChoice = 'all' | { readonly except: Uint8Array } | { readonly sessionId: string };

export interface UserStore {
  findUser(name: UserName): Promise<User | undefined>;
  findUserByLink(linkHash: Uint8Array): Promise<User | undefined>;
  /** By e-mail address. */
  listUsers(teamId: string): Promise<User[]>;
  /** USER_EXISTS when there is one with this address. */
  createUser(user: UserName & { role: Role; createdAt: string; link: Link }, entry: AuditEntry): Promise<Outcome<void>>;
  /** NOT_FOUND and LAST_OWNER as checkUserChange of users.ts decides, inside the transaction. */
  updateUser(name: UserName, change: UserChange, entry: AuditEntry): Promise<Outcome<void>>;
  /** Ends the user's sessions too. NOT_FOUND, LAST_OWNER. */
  deleteUser(name: UserName, entry: AuditEntry): Promise<Outcome<void>>;
  /** Counts an attempt before it is checked: false when another was counted since `failures` was loaded. */
  countAttempt(name: UserName, failures: number, nextTryAt: string): Promise<boolean>;
  /** Takes back the attempt counted upon `failures`, unless another was counted since. */
  undoAttempt(name: UserName, failures: number, nextTryAt: string): Promise<void>;
  /** Uses up a TOTP time step: false when it, or a later one, was used before. */
  useStep(name: UserName, step: number): Promise<boolean>;
  /** Uses up a recovery code: false when the user has none with this hash (any more). */
  useRecoveryCode(name: UserName, hash: Uint8Array): Promise<boolean>;
  countRecoveryCodes(name: UserName): Promise<number>;
}

export interface Session extends UserName {
  /** SHA-256 of the token in the cookie. */
  readonly tokenHash: Uint8Array;
  readonly sessionId: string;
  readonly createdAt: string;
  readonly seenAt: string;
  /** Address it was opened from. */
  readonly client: string;
  /** User-Agent, cut to 200 characters. */
  readonly agent: string;
  /** When the user last proved in it who they are, UTC ISO 8601; '' if that is not known. */
  readonly provenAt: string;
  /** Proofs that failed in it since the last good one: not those of strangers who try to sign in. */
  readonly failures: number;
  /** Proofs before this time are refused; '' when there is no wait. */
  readonly nextTryAt: string;
}

/** What a new proof changes of a session, which goes on under another token. */
type SessionRenewal = Pick<Session, 'tokenHash' | 'seenAt' | 'provenAt' | 'failures' | 'nextTryAt'>;

export interface SignedIn {
  readonly session: Session;
  readonly user: User;
  readonly tenant: Tenant;
}

export interface SessionStore {
  /** As it is now; undefined when it was ended. The caller says whether it is too old. */
  findSession(tokenHash: Uint8Array): Promise<SignedIn | undefined>;
  /** Inserts a session and forgets failed attempts. Ends the session with the token hash `replaces`. */
  openSession(session: Session, entry: AuditEntry | null, replaces?: Uint8Array): Promise<void>;
  touchSession(tokenHash: Uint8Array, seenAt: string): Promise<void>;
  /** False when the session has ended. */
  renewSession(tokenHash: Uint8Array, renewal: SessionRenewal): Promise<boolean>;
  /** Counts a proof before it is checked: false when another was counted since `failures` was loaded. */
  countAttempt(tokenHash: Uint8Array, failures: number, nextTryAt: string): Promise<boolean>;
  /** Takes back the proof counted upon `failures`, unless another was counted since. */
  undoAttempt(tokenHash: Uint8Array, failures: number, nextTryAt: string): Promise<void>;
  /** Newest first. */
  listSessions(name: UserName): Promise<Session[]>;
  /** Ends sessions of the user and answers their number. Appends the entry only when there was one to end. */
  endSessions(name: UserName, which: SessionChoice, entry: AuditEntry): Promise<number>;
  deleteSessionsBefore(createdBefore: string, seenBefore: string): Promise<void>;
}
