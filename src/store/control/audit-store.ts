/** The audit log in any SQL store. A record is appended in the transaction of the change it records. */
import { hashRecord } from '../../audit/chain.ts';
import type { AuditEntry, AuditRecord } from '../../audit/entry.ts';
import type { AuditStore } from '../../audit/port.ts';
import { Refusal } from '../../errors.ts';
import { row, statement, type Row, type Writing } from '../writing.ts';
import { commit, type ControlDatabase } from './database.ts';
import { insertRow, listColumns, toRecord } from './rows.ts';

/** The end of a tenant's chain. The next record follows it. */
interface AuditHead {
  readonly schema: string;
  readonly teamId: string;
  readonly number: number;
  readonly hash: string;
}

/**
 * Locks the tenant's chain until the transaction ends. Every change with an entry begins with it, so that such changes
 * run one after the other on all nodes: of two removals of owners, the second sees the first.
 */
export function* lockAudit(schema: string, teamId: string): Writing<AuditHead> {
  const head = yield* row<[number, string]>(
    `INSERT INTO ${schema}"AUDIT_HEADS" AS h SELECT "TEAM_ID", 0, '' FROM ${schema}"TENANTS" WHERE "TEAM_ID" = ?
      ON CONFLICT ("TEAM_ID") DO UPDATE SET "NUMBER" = h."NUMBER" RETURNING "NUMBER", "HASH"`,
    teamId,
  );
  if (!head) throw new Refusal('TENANT_NOT_FOUND');
  return { schema, teamId, number: head[0], hash: head[1] };
}

/** Appends the record that follows a locked head. Call it once in a transaction. */
export function* appendAudit({ schema, teamId, ...head }: AuditHead, entry: AuditEntry): Writing<void> {
  const number = head.number + 1;
  const [actor, target, client] = [clean(entry.actor), clean(entry.target), clean(entry.client)];
  const kept: AuditEntry = { at: entry.at, actor, action: entry.action, target, client, detail: entry.detail };
  const hash = hashRecord(teamId, number, head.hash, kept);
  yield insertRow(`${schema}"AUDIT"`, { teamId, number, ...kept, detail: JSON.stringify(kept.detail), hash });
  const moveHead = `UPDATE ${schema}"AUDIT_HEADS" SET "NUMBER" = ?, "HASH" = ? WHERE "TEAM_ID" = ?`;
  yield statement(moveHead, number, hash, teamId);
}

/** Replaces what a store would refuse or change, since the hash would no longer match. JSON escapes it in `detail`. */
const clean = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

type StoredRecord = Omit<AuditRecord, 'detail'> & { readonly detail: string };
const RECORD = ['number', 'at', 'actor', 'action', 'target', 'client', 'detail', 'hash'] as const;

function toAuditRecord(found: Row): AuditRecord {
  const record = toRecord<StoredRecord>(RECORD, found);
  return { ...record, detail: JSON.parse(record.detail) as Record<string, string> };
}

export class SqlAuditStore implements AuditStore {
  readonly #db: ControlDatabase;

  constructor(db: ControlDatabase) {
    this.#db = db;
  }

  appendAudit(teamId: string, entry: AuditEntry): Promise<void> {
    const { schema } = this.#db;
    return commit(this.#db, function* () {
      yield* appendAudit(yield* lockAudit(schema, teamId), entry);
    });
  }

  loadAudit(teamId: string, before: number, limit: number): Promise<AuditRecord[]> {
    const last = Math.min(before, Number.MAX_SAFE_INTEGER);
    return this.#load('"NUMBER" < ? ORDER BY "NUMBER" DESC', teamId, last, limit);
  }

  loadAuditFrom(teamId: string, from: number, limit: number): Promise<AuditRecord[]> {
    return this.#load('"NUMBER" >= ? ORDER BY "NUMBER"', teamId, from, limit);
  }

  async loadAuditHead(teamId: string): Promise<{ number: number; hash: string }> {
    const sql = `SELECT "NUMBER", "HASH" FROM ${this.#db.schema}"AUDIT_HEADS" WHERE "TEAM_ID" = ?`;
    const [head] = await this.#db.read<[number, string]>(sql, teamId);
    return { number: head?.[0] ?? 0, hash: head?.[1] ?? '' };
  }

  async #load(which: string, teamId: string, number: number, limit: number): Promise<AuditRecord[]> {
    const from = `FROM ${this.#db.schema}"AUDIT" a WHERE "TEAM_ID" = ? AND ${which} LIMIT ?`;
    const found = await this.#db.read(`SELECT ${listColumns(RECORD, 'a')} ${from}`, teamId, number, limit);
    return found.map(toAuditRecord);
  }
}
