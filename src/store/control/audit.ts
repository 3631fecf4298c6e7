/** The audit log in any SQL store. A record is appended in the transaction of the change it records. */
import { hashRecord } from '../../audit/chain.ts';
import type { AuditEntry, AuditRecord, AuditStore } from '../../audit/audit.ts';
import { Refusal, type Outcome } from '../../errors.ts';
import { yieldRow, statement, type Writing } from '../sql/writing.ts';
import { commitWriting, insertRow, loadRecords, type ControlDatabase, type ReadableTables } from './control.ts';

/**
 * Makes a change and appends its entry, unless the change returns a refusal, false or 0. Locks the tenant's chain
 * first, until the transaction ends. All nodes therefore run such changes one after the other, and the second of two
 * removals of owners sees the first. Without an entry, it only makes the change.
 */
export function* audited<T>(
  schema: string,
  teamId: string,
  entry: AuditEntry | null,
  change: () => Writing<T>,
): Writing<T> {
  if (!entry) return yield* change();
  const head = yield* yieldRow<[number, string]>(
    `INSERT INTO ${schema}"AUDIT_HEADS" AS h SELECT "TEAM_ID", 0, '' FROM ${schema}"TENANTS" WHERE "TEAM_ID" = ?
      ON CONFLICT ("TEAM_ID") DO UPDATE SET "NUMBER" = h."NUMBER" RETURNING "NUMBER", "HASH"`,
    teamId,
  );
  if (!head) throw new Refusal('TENANT_NOT_FOUND');
  const { once = null } = entry;
  const isMade = `SELECT 1 FROM ${schema}"AUDIT" WHERE "TEAM_ID" = ? AND "ONCE" = ?`;
  if (once !== null && (yield* yieldRow(isMade, teamId, once))) throw new Refusal('IDEMPOTENCY_KEY_REUSED', MADE);
  const outcome = yield* change();
  if (outcome === false || outcome === 0 || outcome instanceof Refusal) return outcome;
  const [last, lastHash] = head;
  const number = last + 1;
  const [actor, target, client] = [clean(entry.actor), clean(entry.target), clean(entry.client)];
  const detail = Object.fromEntries(Object.entries(entry.detail).map(([name, text]) => [name, cutAuditText(text)]));
  const kept = { at: entry.at, actor, action: entry.action, target, client };
  const hash = hashRecord(teamId, number, lastHash, { ...kept, detail });
  yield insertRow(`${schema}"AUDIT"`, { teamId, number, ...kept, detail: JSON.stringify(detail), hash, once });
  const moveHead = `UPDATE ${schema}"AUDIT_HEADS" SET "NUMBER" = ?, "HASH" = ? WHERE "TEAM_ID" = ?`;
  yield statement(moveHead, number, hash, teamId);
  return outcome;
}

/** Makes a change and appends its entry as `audited` does, in one transaction. */
export const commitAudited = <T>(
  db: ControlDatabase,
  teamId: string,
  entry: AuditEntry | null,
  change: () => Writing<Outcome<T>>,
): Promise<Outcome<T>> => db.transaction(() => audited(db.schema, teamId, entry, change));

export const appendAudit = (schema: string, teamId: string, entry: AuditEntry | null): Writing<void> =>
  audited(schema, teamId, entry, function* () {});

const MADE =
  'The change with this Idempotency-Key was already made. Its response is not kept, because it can contain a secret.';

/** Maximum characters of each text of a record. */
const TEXT_CHARACTERS_MAX = 2000;
const cutAuditText = (text: string) => text.slice(0, TEXT_CHARACTERS_MAX);

/**
 * Cuts a text, and replaces characters that a store would refuse or change, because the hash would no longer match. In
 * `detail`, JSON escapes them.
 */
const clean = (text: string) => cutAuditText(text).toWellFormed().replaceAll('\0', '\uFFFD');

type Head = Pick<AuditRecord, 'number' | 'hash'>;
const RECORD = ['number', 'at', 'actor', 'action', 'target', 'client', 'detail', 'hash'] as const;

export const makeAuditStore = (db: ControlDatabase): AuditStore => ({
  ...readAudit(db),
  appendAudit: (teamId, entry) => commitWriting(db, () => appendAudit(db.schema, teamId, entry)),
});

/** A text that someone has damaged fits no hash of the log. */
function parseDetail(text: string): AuditRecord['detail'] {
  try {
    return JSON.parse(text) as AuditRecord['detail'];
  } catch {
    return { damaged: text };
  }
}

/** Returns the methods of an AuditStore that only read. */
export function readAudit(db: ReadableTables): Omit<AuditStore, 'appendAudit'> {
  const loadPage = async (which: string, ...values: [teamId: string, number: number, limit: number]) => {
    type Stored = Omit<AuditRecord, 'detail'> & { readonly detail: string };
    const found = await loadRecords<Stored>(db, 'AUDIT', RECORD, `"TEAM_ID" = ? AND ${which} LIMIT ?`, ...values);
    return found.map((record) => ({ ...record, detail: parseDetail(record.detail) }));
  };
  return {
    loadAudit: (teamId, before, limit) =>
      loadPage('"NUMBER" < ? ORDER BY "NUMBER" DESC', teamId, Math.min(before, Number.MAX_SAFE_INTEGER), limit),
    loadAuditFrom: (teamId, from, limit) => loadPage('"NUMBER" >= ? ORDER BY "NUMBER"', teamId, from, limit),
    async loadAuditHead(teamId) {
      const columns = ['number', 'hash'] as const;
      const [head] = await loadRecords<Head>(db, 'AUDIT_HEADS', columns, '"TEAM_ID" = ?', teamId);
      return head ?? { number: 0, hash: '' };
    },
  };
}
