/**
 * Hashes each audit record with the previous hash: a change is detected unless all later hashes and the head are
 * rewritten too. Source: decision 0024.
 */
import { hash } from 'node:crypto';
import type { AuditEntry, AuditStore } from './audit.ts';

interface AuditFault {
  readonly number: number;
  readonly reason: string;
}

/** Returns the hash of a record that follows one with the hash `before` ('' for the first). */
export function hashRecord(
  teamId: string,
  number: number,
  before: string,
  { at, actor, action, target, client, detail }: AuditEntry,
): string {
  const sorted = Object.entries(detail).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify([teamId, number, before, at, actor, action, target, client, sorted]), 'hex');
}

export interface AuditCheck {
  /** The number of records, from the first, that are unchanged. */
  readonly records: number;
  /** The hash of the last of these records; '' when there is none. */
  readonly head: string;
  readonly fault: AuditFault | null;
}

const PAGE_RECORDS = 500;
/** A number lower than every record's, so that a record inserted before the first is found. */
const BEFORE_ALL = -(2 ** 31);

/**
 * Verifies the numbers, the hashes and the head of the log, including records that are appended in the meantime. Throws
 * once `ended` is aborted.
 */
export async function verifyAudit(
  store: Pick<AuditStore, 'loadAuditFrom' | 'loadAuditHead'>,
  teamId: string,
  ended?: AbortSignal,
): Promise<AuditCheck> {
  let records = 0;
  let head = '';
  let promised = 0;
  const faultAt = (number: number, reason: string): AuditCheck => ({ records, head, fault: { number, reason } });
  for (;;) {
    ended?.throwIfAborted();
    const page = await store.loadAuditFrom(teamId, records === 0 ? BEFORE_ALL : records + 1, PAGE_RECORDS);
    for (const record of page) {
      const number = records + 1;
      if (record.number < number) return faultAt(record.number, 'the service never wrote it');
      if (record.number > number) return faultAt(number, 'it is missing');
      if (record.hash !== hashRecord(teamId, number, head, record))
        return faultAt(number, 'it was changed after it was written');
      records = number;
      head = record.hash;
    }
    if (page.length === PAGE_RECORDS) continue;
    const kept = await store.loadAuditHead(teamId);
    if (kept.number > records) {
      // Records may have been appended between the two reads, but those that the previous head counted must be there.
      if (promised > records) return faultAt(records + 1, `it is missing, although ${promised} records were written`);
      promised = kept.number;
      continue;
    }
    if (kept.number < records)
      return faultAt(kept.number + 1, `the service never wrote it: the log ended with record ${kept.number}`);
    return kept.hash === head
      ? { records, head, fault: null }
      : faultAt(records, 'it is not the last record that the service wrote');
  }
}
