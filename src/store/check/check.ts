/**
 * `storeroom check`: reads a store, or a backup of one, and looks for contradictions. It changes nothing and can run
 * during a service, because it reads each part in one snapshot. Source: decision 0021.
 */
import { verifyAudit } from '../../audit/chain.ts';
import { readAudit } from '../control/audit.ts';
import { checkRequests, checkUsage } from './control-check.ts';
import { Findings, type Finding } from './findings.ts';
import type { CheckedDatabase, CheckedPart, CheckedStore } from './checked-store.ts';
import { checkTenant, type RecordCounts } from './tenant-check.ts';

export interface CheckResult extends RecordCounts {
  readonly tenants: number;
  /** The first findings. `count` is the number of all findings. */
  readonly findings: readonly Finding[];
  readonly count: number;
  /** See Findings. */
  readonly notes: readonly string[];
}

/** Checks everything and closes the store. Throws if the store is locked, missing, or from a newer version. */
export async function checkStore(store: CheckedStore): Promise<CheckResult> {
  const findings = new Findings();
  const counts: RecordCounts = { orders: 0, lines: 0 };
  const checkPart = async (part: CheckedPart, place: string, work: (db: CheckedDatabase) => Promise<void>) => {
    try {
      await store.read(part, work);
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
      tenants = await db.read(`SELECT "TEAM_ID", "STORE_ID" FROM ${db.schema}"TENANTS" ORDER BY "TEAM_ID"`);
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
  if (fault) findings.add(`audit log of ${teamId}`, `record ${fault.number}: ${fault.reason}`, remedy);
}
