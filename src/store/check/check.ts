/**
 * `storeroom check`: reads a store, or a backup of one, and looks for contradictions. It changes nothing and can run
 * beside a service, because it reads each part in one snapshot. Source: decision 0021.
 */
import { verifyAudit } from '../../audit/chain.ts';
import { parseLine, parseNumber, unpackLines } from '../../request-log/lines.ts';
import { readAudit } from '../control/audit.ts';
import {
  Findings,
  RESTORE,
  type CheckedDatabase,
  type CheckedPart,
  type CheckedStore,
  type Finding,
} from './checked-store.ts';
import { checkTenant, type RecordCounts } from './tenant-check.ts';

export interface CheckResult extends RecordCounts {
  readonly tenants: number;
  /** The first findings. `count` is the number of all findings. */
  readonly findings: readonly Finding[];
  readonly count: number;
  /** See Findings. */
  readonly notes: readonly string[];
}

/** Checks everything and closes the store. Throws if the store is locked or from a newer version. */
export async function checkStore(store: CheckedStore): Promise<CheckResult> {
  const findings = new Findings();
  const counts: RecordCounts = { orders: 0, lines: 0 };
  const checkPart = async (part: CheckedPart, place: string, work: (db: CheckedDatabase) => Promise<void>) => {
    try {
      await store.readPart(part, work);
    } catch (fault) {
      const damage = store.damageOf(fault);
      if (damage === undefined) throw fault;
      findings.addDamage(place, `it cannot be read: ${damage}`);
    }
  };
  let tenants: [teamId: string, storeId: string][] = [];
  try {
    await store.checkItself(findings);
    await checkPart('control', 'tenants', async (db) => {
      tenants = await db.readRows(`SELECT "TEAM_ID", "STORE_ID" FROM ${db.schema}"TENANTS" ORDER BY "TEAM_ID"`);
      for (const [teamId] of tenants) await checkAudit(db, teamId, findings);
    });
    await checkPart('usage', 'counts', (db) => checkUsage(db, findings));
    await checkPart('requests', 'request log', (db) => checkRequests(db, findings));
    for (const [teamId, storeId] of tenants)
      await checkPart({ storeId }, `records of ${teamId}`, (db) => checkTenant(db, teamId, counts, findings));
  } finally {
    await store.close?.();
  }
  const { listed, count, notes } = findings;
  return { tenants: tenants.length, ...counts, findings: listed, count, notes };
}

async function checkAudit(db: CheckedDatabase, teamId: string, findings: Findings): Promise<void> {
  const { fault } = await verifyAudit(readAudit(db), teamId);
  const remedy = 'Find out who could write to the database. The earlier records are unchanged.';
  if (fault) findings.addFinding(`audit log of ${teamId}`, `record ${fault.number}: ${fault.reason}`, remedy);
}

const USAGE_REMEDY = `Compare both with the request log or the balancer's log. ${RESTORE}`;
const LOG_REMEDY =
  'Records and counts are not affected. The service deletes the block after STOREROOM_REQUEST_LOG_DAYS.';

const BYTES_REMEDY = 'This affects only when old requests are deleted. The next `storeroom move` corrects it.';

type Sums = [teamId: string, month: string, one: number | string, other: number | string];
type Block = [teamId: string, blockId: string, boot: string, first: number, last: number, lines: Uint8Array];

/** Checks that the counts of calls agree. */
async function checkUsage({ schema, each }: CheckedDatabase, findings: Findings): Promise<void> {
  const unlikeDays = `SELECT "TEAM_ID", month, sum(days), sum(months) FROM (
    SELECT "TEAM_ID", substr("DAY", 1, 7) AS month, "CALLS" AS days, 0 AS months FROM ${schema}"USAGE"
    UNION ALL SELECT "TEAM_ID", "MONTH", 0, "CALLS" FROM ${schema}"USAGE_MONTHS") AS counts
  GROUP BY "TEAM_ID", month HAVING sum(days) <> sum(months) ORDER BY 1, 2`;
  await each<Sums>(unlikeDays, ([teamId, month, days, months]) =>
    findings.addFinding(
      `counts of ${teamId}`,
      `the days of ${month} add up to ${days} calls, but the month has ${months}`,
      USAGE_REMEDY,
    ),
  );
  const beyondTotal = `SELECT k."TEAM_ID", k."MONTH", sum(k."CALLS"), max(coalesce(m."CALLS", 0))
  FROM ${schema}"KEY_USAGE" k LEFT JOIN ${schema}"USAGE_MONTHS" m ON m."TEAM_ID" = k."TEAM_ID" AND m."MONTH" = k."MONTH"
  GROUP BY k."TEAM_ID", k."MONTH" HAVING sum(k."CALLS") > max(coalesce(m."CALLS", 0)) ORDER BY 1, 2`;
  await each<Sums>(beyondTotal, ([teamId, month, pairs, total]) =>
    findings.addFinding(
      `counts of ${teamId}`,
      `its keys have ${pairs} calls in ${month}, but the tenant has ${total}`,
      USAGE_REMEDY,
    ),
  );
}

/** Checks that every block of the request log can be read, and that the store has counted the bytes correctly. */
async function checkRequests({ schema, each }: CheckedDatabase, findings: Findings): Promise<void> {
  const columns = '"TEAM_ID", "BLOCK_ID", "BOOT", "FIRST_NUMBER", "LAST_NUMBER", "LINES"';
  await each<Block>(`SELECT ${columns} FROM ${schema}"REQUESTS"`, ([teamId, blockId, boot, first, last, lines]) => {
    const fault = faultOfBlock(first, last, lines);
    if (fault) findings.addNote(`Request log of ${teamId}: block ${blockId}, ${boot}: ${fault}. ${LOG_REMEDY}`);
  });
  const unlikeBytes = `SELECT "TEAM_ID", sum(lines), sum(bytes) FROM (
    SELECT "TEAM_ID", length("LINES") + 200 AS lines, 0 AS bytes FROM ${schema}"REQUESTS"
    UNION ALL SELECT "TEAM_ID", 0, "BYTES" FROM ${schema}"REQUEST_BYTES") AS blocks
  GROUP BY "TEAM_ID" HAVING sum(lines) <> sum(bytes) ORDER BY 1`;
  await each<[string, number | string, number | string]>(unlikeBytes, ([teamId, lines, bytes]) =>
    findings.addNote(
      `Request log of ${teamId}: its blocks have ${lines} bytes, but the store has counted ${bytes}. ${BYTES_REMEDY}`,
    ),
  );
}

function faultOfBlock(first: number, last: number, lines: Uint8Array): string | undefined {
  try {
    const numbers = unpackLines({ lines }).map((line) => parseNumber(parseLine(line)[0]));
    const isWithin = numbers.every((number) => number >= first && number <= last);
    return isWithin ? undefined : `it contains a request outside the numbers ${first} to ${last}`;
  } catch (fault) {
    return `it cannot be read (${(fault as Error).message})`;
  }
}
