/**
 * The audit log, in any store: appends a record to its tenant's chain inside the transaction of what it tells of, and reads the chain back.
 * Never changes a record, and never verifies one.
 */
import type { AuditStore } from '../../audit/port.ts';
import { Refusal } from '../../errors.ts';
import { hashRecord } from '../../audit/chain.ts';
import type { AuditEntry, AuditRecord } from '../../audit/entry.ts';
import { insist, type Control } from './database.ts';
import { row, write, type Writing } from '../writing.ts';

/** The end of a tenant's chain: a record not yet written follows it. */
export interface AuditHead {
  readonly schema: string;
  readonly teamId: string;
  readonly number: number;
  readonly hash: string;
}

/**
 * Locks the tenant's chain until the transaction ends. Whatever has an entry begins with it, so that all of it stands in one line, on whatever nodes:
 * of two replacements of keys, or removals of owners, the second sees what the first did.
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

/** Appends the record that follows a locked head. Once a transaction. */
export function* appendAudit(
  { schema, teamId, number: last, hash: before }: AuditHead,
  entry: AuditEntry,
): Writing<void> {
  const kept: AuditEntry = {
    ...entry,
    actor: clean(entry.actor),
    target: clean(entry.target),
    client: clean(entry.client),
  };
  const { at, actor, action, target, client, detail } = kept;
  const number = last + 1;
  const hash = hashRecord(teamId, number, before, kept);
  const insert = `INSERT INTO ${schema}"AUDIT" ("TEAM_ID", "NUMBER", "AT", "ACTOR", "ACTION", "TARGET", "CLIENT", "DETAIL", "HASH") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  yield write(insert, teamId, number, at, actor, action, target, client, JSON.stringify(detail), hash);
  yield write(`UPDATE ${schema}"AUDIT_HEADS" SET "NUMBER" = ?, "HASH" = ? WHERE "TEAM_ID" = ?`, number, hash, teamId);
}

/** Without what a store would refuse or change, and the hash would no longer fit. JSON has its own way to write that. */
const clean = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

type RecordRow = [number, string, string, string, string, string, string, string];
const RECORD = `"NUMBER", "AT", "ACTOR", "ACTION", "TARGET", "CLIENT", "DETAIL", "HASH"`;

export class AuditLog implements AuditStore {
  protected readonly control: Control;

  constructor(control: Control) {
    this.control = control;
  }

  appendAudit(teamId: string, entry: AuditEntry): Promise<void> {
    const { schema } = this.control;
    return insist(this.control.change(function* () {
      yield* appendAudit(yield* lockAudit(schema, teamId), entry);
    })); // prettier-ignore
  }

  async loadAudit(teamId: string, before: number, limit: number): Promise<AuditRecord[]> {
    const sql = `SELECT ${RECORD} FROM ${this.control.schema}"AUDIT" WHERE "TEAM_ID" = ? AND "NUMBER" < ? ORDER BY "NUMBER" DESC LIMIT ?`;
    return (await this.control.read<RecordRow>(sql, teamId, Math.min(before, Number.MAX_SAFE_INTEGER), limit)).map(
      toRecord,
    );
  }

  async loadAuditFrom(teamId: string, from: number, limit: number): Promise<AuditRecord[]> {
    const sql = `SELECT ${RECORD} FROM ${this.control.schema}"AUDIT" WHERE "TEAM_ID" = ? AND "NUMBER" >= ? ORDER BY "NUMBER" LIMIT ?`;
    return (await this.control.read<RecordRow>(sql, teamId, from, limit)).map(toRecord);
  }

  async loadAuditHead(teamId: string): Promise<{ number: number; hash: string }> {
    const sql = `SELECT "NUMBER", "HASH" FROM ${this.control.schema}"AUDIT_HEADS" WHERE "TEAM_ID" = ?`;
    const [head] = await this.control.read<[number, string]>(sql, teamId);
    return { number: head?.[0] ?? 0, hash: head?.[1] ?? '' };
  }
}

function toRecord([number, at, actor, action, target, client, detail, hash]: RecordRow): AuditRecord {
  return { number, at, actor, action, target, client, detail: JSON.parse(detail) as Record<string, string>, hash };
}
