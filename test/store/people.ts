/** Makes tenants with users and sessions, and checks that the audit log is a chain. Uses only the ports of a store. */
import assert from 'node:assert/strict';
import type { Session, User, UserChange, UserName } from '../../src/account/account-port.ts';
import { Refusal } from '../../src/errors.ts';
import { hashRecord } from '../../src/audit/chain.ts';
import type { AuditRecord, AuditStore } from '../../src/audit/audit.ts';
import { accepted, entry, NOW, type OpenedStore, type StoreUnderTest } from './store-under-test.ts';

export const bytes = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
export const at = (minutes: number): string => new Date(Date.parse(NOW) + minutes * 60_000).toISOString();
export const linkOf = (teamId: string, email: string): Uint8Array =>
  new Uint8Array(Buffer.from(`${teamId} ${email}`.padEnd(32)).subarray(0, 32));
export const actionsOf = (records: readonly AuditRecord[]): string[] => records.map(({ action }) => action);

const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex');
/** Returns the value with all bytes as text, because stores return bytes in different classes. */
export function plain<T>(value: T): T {
  if (value instanceof Uint8Array) return hex(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one as unknown)])) as T;
}

/** Returns all audit records of a tenant. Checks that they are a chain that ends at its head. */
export async function readChain(audit: AuditStore, teamId: string): Promise<AuditRecord[]> {
  const records = await audit.loadAuditFrom(teamId, 1, 1000);
  let before = '';
  for (const [index, record] of records.entries()) {
    assert.equal(record.number, index + 1);
    assert.equal(
      record.hash,
      hashRecord(teamId, record.number, before, record),
      `record ${record.number} does not follow`,
    );
    before = record.hash;
  }
  assert.deepEqual(await audit.loadAuditHead(teamId), { number: records.length, hash: before });
  return records;
}

/** Repeats work while the store is too busy, in which case it has written nothing. */
export async function untilTaken<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    const outcome = await work().catch((fault: unknown) => {
      if (fault instanceof Refusal && fault.code === 'SERVICE_BUSY') return fault as T;
      throw fault;
    });
    if (!(outcome instanceof Refusal && outcome.code === 'SERVICE_BUSY')) return outcome;
  }
}

export class People {
  readonly store: StoreUnderTest;
  constructor(store: StoreUnderTest) {
    this.store = store;
  }

  opened(): Promise<OpenedStore> {
    return this.store.first();
  }

  /** Makes a tenant with a user for each of these roles. */
  async newTeam(...roles: User['role'][]): Promise<{ teamId: string; names: UserName[] }> {
    const { teamId } = (await this.store.newTenant()).tenant;
    const names = roles.map((role, index) => ({ teamId, email: `${role}-${index}@example.com` }));
    const store = await this.opened();
    for (const [index, name] of names.entries()) {
      const link = { linkHash: linkOf(teamId, name.email), linkEndsAt: at(60) };
      const user = { ...name, role: roles[index]!, createdAt: NOW, ...link };
      accepted(await store.users.createUser(user, entry({ action: 'user.created' })));
    }
    return { teamId, names };
  }

  /** Makes a user with a password, a second factor and three recovery codes. */
  async newUser(): Promise<UserName> {
    const [name] = (await this.newTeam('owner')).names;
    const change: UserChange = {
      set: { ...NO_LINK, passwordHash: '$argon2id$…', passwordSetAt: at(1), sealedSecret: bytes(9), lastStep: 100 },
      recoveryHashes: [bytes(1), bytes(2), bytes(3)],
    };
    accepted(await (await this.opened()).users.updateUser(name!, change, entry({ action: 'user.changed' })));
    return name!;
  }
}

const NO_LINK = { linkHash: null, linkEndsAt: '' };
let sessions = 0;
export function newSession(name: UserName, times: Partial<Session> = {}): Session {
  const tokenHash = bytes(1);
  new DataView(tokenHash.buffer).setUint32(0, ++sessions);
  return {
    ...name,
    tokenHash,
    sessionId: `s${sessions}`,
    createdAt: NOW,
    seenAt: NOW,
    client: '192.0.2.7',
    agent: 'Mozilla/5.0 ü',
    provenAt: NOW,
    failures: 0,
    nextTryAt: '',
    ...times,
  };
}
