/** Tenants and users in a real store in a folder of their own, who sign in at the times a test says. */
import assert from 'node:assert/strict';
import { Accounts, type OpenedSession } from '../../src/account/accounts.ts';
import { inviteUser } from '../../src/account/users.ts';
import { decodeBase32, formatCode } from '../../src/account/second-factor.ts';
import type { AuditRecord } from '../../src/audit/entry.ts';
import { Refusal, type ErrorCode } from '../../src/errors.ts';
import { newFolder, openForAll } from '../store/sqlite-folder.ts';
import type { Clock } from '../../src/clock.ts';
import { passing } from '../kit/clock.ts';

export const START = Date.parse('2026-11-20T09:30:00.000Z');
export const PASSWORD = 'lantern gravel poplar seventeen';
export const WRONG = 'lantern gravel poplar eighteen';
export const folder = newFolder();
export const store = openForAll(folder);
/** The pause before a refusal is over at once. */
export const atOnce: Clock = {
  ...passing,
  after: (_ms, work) => {
    setImmediate(work);
    return { close: () => undefined };
  },
};
export const accounts = new Accounts(store, atOnce);

let tenants = 0;
let addresses = 0;

/** A visit at so many seconds after the start, from an address of its own. */
export const visit = (seconds = 0, client = `10.0.${++addresses >> 8}.${addresses & 255}`) => ({
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

/** An owner with a password, in a tenant of their own; signs in and out as a test needs it. */
export class Person {
  readonly teamID: string;
  readonly email = 'ann@example.com';
  password = PASSWORD;
  /** Base32; '' without a second factor. */
  secret = '';

  constructor(teamID: string) {
    this.teamID = teamID;
  }

  static async create(): Promise<Person> {
    const person = new Person(await newTeam());
    const { token } = await inviteUser(store.users, person.teamID, person.email, 'owner', operator());
    await accounts.useLink(token, PASSWORD, visit());
    return person;
  }

  /** One with a second factor that was put in force at the start; `recoveryCodes` are theirs. */
  static async createWithFactor(): Promise<{ person: Person; recoveryCodes: string[] }> {
    const person = await Person.create();
    const { signedIn } = await person.signIn(visit());
    const { recoveryCodes } = await person.enableFactor(signedIn, 0);
    return { person, recoveryCodes };
  }

  /** Puts a new second factor in force, so many seconds after the start. */
  enableFactor(signedIn: OpenedSession['signedIn'], seconds: number): ReturnType<Accounts['enableSecondFactor']> {
    const { secret } = accounts.beginSecondFactor(signedIn);
    this.secret = secret;
    const proof = { password: PASSWORD, secret, code: this.codeAt(seconds) };
    return accounts.enableSecondFactor(signedIn, proof, visit(seconds));
  }

  signIn(
    when: ReturnType<typeof visit> & { replaces?: string },
    proof: { password?: string; code?: string } = {},
  ): Promise<OpenedSession> {
    return accounts.signIn({ teamID: this.teamID, email: this.email, password: this.password, ...proof }, when);
  }

  /** What the app shows at so many seconds after the start. */
  codeAt(seconds: number): string {
    return formatCode(decodeBase32(this.secret)!, Math.floor((START / 1000 + seconds) / 30));
  }

  /** Codes of six digits that are not good around then. */
  wrongCodeAt(seconds: number): string {
    const near = [-30, 0, 30].map((away) => this.codeAt(seconds + away));
    return ['000000', '000001', '000002', '000003'].find((code) => !near.includes(code))!;
  }

  async failures(): Promise<number> {
    return (await store.users.findUser({ teamId: this.teamID, email: this.email }))!.failures;
  }

  /** The audit log, oldest first. */
  log(): Promise<AuditRecord[]> {
    return store.audit.loadAuditFrom(this.teamID, 1, 1000);
  }
}

/** Checks that the attempt is refused with this code. */
export async function expectRefused(code: ErrorCode, attempt: Promise<unknown>): Promise<void> {
  assert.equal(await refusedWith(attempt), code);
}

export const refusedWith = async (attempt: Promise<unknown>): Promise<ErrorCode> => (await refusalOf(attempt)).code;

/** What the attempt is refused with; fails when it is not. */
export async function refusalOf(attempt: Promise<unknown>): Promise<Refusal> {
  try {
    await attempt;
  } catch (refusal) {
    if (refusal instanceof Refusal) return refusal;
    throw refusal;
  }
  throw new Error('It was not refused.');
}
