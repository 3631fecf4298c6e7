/** Makes tenants and users in a real store in a temporary folder. They sign in at times that the test chooses. */
import assert from 'node:assert/strict';
import * as account from '../../src/account/accounts.ts';
import type { SignedIn } from '../../src/account/account-port.ts';
import { makeAttempts, type ClientContext, type Proof, type Visit } from '../../src/account/attempts.ts';
import { inviteUser } from '../../src/account/users.ts';
import { decodeBase32, formatCode } from '../../src/account/second-factor.ts';
import type { AuditRecord } from '../../src/audit/audit.ts';
import { Refusal, type ErrorCode } from '../../src/errors.ts';
import { newFolder, openForAll } from '../store/sqlite-folder.ts';
import type { Clock } from '../../src/clock.ts';
import { passing } from '../kit/clock.ts';

export const START = Date.parse('2026-11-20T09:30:00.000Z');
export const PASSWORD = 'lantern gravel poplar seventeen';
export const WRONG = 'lantern gravel poplar eighteen';
export const folder = newFolder();
export const store = openForAll(folder);
/** A clock whose timers end in the next turn, so that no refusal is delayed. */
export const atOnce: Clock = {
  ...passing,
  after: (_ms, work) => {
    setImmediate(work);
    return { close: () => undefined };
  },
};

type Stores = Pick<Visit, 'users' | 'sessions' | 'audit'>;
type Client = ClientContext & { readonly replaces?: string };

/** Returns the use cases of an account on these stores, each for a request from a client. */
export function accountsOn({ users, sessions, audit }: Stores) {
  const stores = { users, sessions, audit, attempts: makeAttempts(atOnce) };
  /** Makes a use case of a signed-in user. */
  const own =
    <Given, Answer>(use: (visit: Visit & { signedIn: SignedIn }, given: Given) => Promise<Answer>) =>
    (signedIn: SignedIn, given: Given, client: ClientContext): Promise<Answer> =>
      use({ ...stores, client, signedIn }, given);
  return {
    signIn: (given: Proof & { teamID: string; email: string }, { replaces, ...client }: Client) =>
      account.signIn({ ...stores, client }, given, replaces),
    checkLink: (token: string, client: ClientContext) => account.checkLink({ ...stores, client }, { token }),
    useLink: (token: string, password: string, client: ClientContext) =>
      account.useLink({ ...stores, client }, { token, password }),
    findSession: (token: string, nowMs: number) => account.loadSession(sessions, token, nowMs),
    deleteExpired: (nowMs: number) => account.endedSessions(sessions).deleteExpired(nowMs),
    confirm: own(account.confirmPassword),
    changePassword: own(account.changePassword),
    enableSecondFactor: own(account.enableSecondFactor),
    disableSecondFactor: own(account.disableSecondFactor),
    endSessions: own((visit, sessionId: string | undefined) => account.endOwnSessions(visit, { sessionId })),
    signOut: (signedIn: SignedIn, client: ClientContext) => account.signOut({ ...stores, client, signedIn }),
    listSessions: (signedIn: SignedIn, nowMs: number) =>
      account.listLive({ ...stores, signedIn, client: { nowMs, client: '', agent: '' } }),
  };
}
export const accounts = accountsOn(store);

let tenants = 0;
let addresses = 0;

/** Returns a visit this many seconds after the start, from a new network unless an address is given. */
export const visit = (seconds = 0, client = `10.${++addresses >> 8}.${addresses & 255}.1`) => ({
  nowMs: START + seconds * 1000,
  client,
  agent: 'A browser',
});
export const operator = (seconds = 0) => ({ nowMs: START + seconds * 1000, actor: 'command line', client: '' });

export async function newTeam(): Promise<string> {
  const teamId = `team-${++tenants}`;
  await store.tenants.createTenant(teamId, 'A tenant', new Date(START).toISOString());
  return teamId;
}

/** An owner with a password, in a separate tenant. */
export class Person {
  readonly teamID: string;
  readonly email = 'ann@example.com';
  password = PASSWORD;
  /** The secret of the second factor in base32; '' without a second factor. */
  secret = '';

  constructor(teamID: string) {
    this.teamID = teamID;
  }

  static async create(): Promise<Person> {
    const person = new Person(await newTeam());
    const { token } = await inviteUser(
      { users: store.users, teamId: person.teamID, actor: operator() },
      { email: person.email, role: 'owner' },
    );
    await accounts.useLink(token, PASSWORD, visit());
    return person;
  }

  /** Creates an owner whose second factor was enabled at the start, and returns its recovery codes too. */
  static async createWithFactor(): Promise<{ person: Person; recoveryCodes: string[] }> {
    const person = await Person.create();
    const { signedIn } = await person.signIn(visit());
    const { recoveryCodes } = await person.enableFactor(signedIn, 0);
    return { person, recoveryCodes };
  }

  /** Enables a new second factor, this many seconds after the start. A code of the present factor replaces it. */
  async enableFactor(
    signedIn: SignedIn,
    seconds: number,
    presentCode?: string,
  ): ReturnType<typeof account.enableSecondFactor> {
    const { secret } = await account.beginSecondFactor({ signedIn });
    this.secret = secret;
    const proof = { password: PASSWORD, secret, code: this.codeAt(seconds), presentCode };
    return accounts.enableSecondFactor(signedIn, proof, visit(seconds));
  }

  signIn(
    when: ReturnType<typeof visit> & { replaces?: string },
    proof: { password?: string; code?: string } = {},
  ): Promise<account.OpenedSession> {
    return accounts.signIn({ teamID: this.teamID, email: this.email, password: this.password, ...proof }, when);
  }

  /** Returns the code that the authenticator app shows this many seconds after the start. */
  codeAt(seconds: number): string {
    return formatCode(decodeBase32(this.secret)!, Math.floor((START / 1000 + seconds) / 30));
  }

  /** Returns six digits that are not a valid code at this time, 30 seconds earlier or 30 seconds later. */
  wrongCodeAt(seconds: number): string {
    const near = [-30, 0, 30].map((away) => this.codeAt(seconds + away));
    return ['000000', '000001', '000002', '000003'].find((code) => !near.includes(code))!;
  }

  async failures(): Promise<number> {
    return (await store.users.findUser({ teamId: this.teamID, email: this.email }))!.failures;
  }

  /** Returns the audit log, oldest record first. */
  log(): Promise<AuditRecord[]> {
    return store.audit.loadAuditFrom(this.teamID, 1, 1000);
  }
}

/** Checks that the attempt is refused with this code. */
export async function expectRefused(code: ErrorCode, attempt: Promise<unknown>): Promise<void> {
  assert.equal(await refusedWith(attempt), code);
}

export const refusedWith = async (attempt: Promise<unknown>): Promise<ErrorCode> => (await refusalOf(attempt)).code;

/** Returns the refusal of an attempt. Throws if the attempt succeeds or fails in another way. */
export async function refusalOf(attempt: Promise<unknown>): Promise<Refusal> {
  try {
    await attempt;
  } catch (refusal) {
    if (refusal instanceof Refusal) return refusal;
    throw refusal;
  }
  throw new Error('It was not refused.');
}
