/** The hash of each audit record covers the one before, so that every change is detected. Source: decision 0024. */
import { hash } from 'node:crypto';
import type { AuditEntry } from './entry.ts';
import type { AuditStore } from './audit-port.ts';

interface AuditFault {
  readonly number: number;
  readonly reason: string;
}

/** The hash of a record that follows one with the hash `before` ('' for the first). */
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
  /** The number of records, from the first, that are as they were written. */
  readonly records: number;
  /** Hash of the last of them; '' when there is none. */
  readonly head: string;
  readonly fault: AuditFault | null;
}

const PAGE_RECORDS = 500;
/** Below the number of any record, so that one put in before the first is found too. */
const BEFORE_ALL = -(2 ** 31);

/** Compares numbers, hashes and the head of the log. Includes records appended meanwhile. Throws once it is ended. */
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
      if (record.number < number) return faultAt(record.number, 'it was never written');
      if (record.number > number) return faultAt(number, 'it is missing');
      if (record.hash !== hashRecord(teamId, number, head, record))
        return faultAt(number, 'it is not as it was written');
      records = number;
      head = record.hash;
    }
    if (page.length === PAGE_RECORDS) continue;
    const kept = await store.loadAuditHead(teamId);
    if (kept.number > records) {
      // Records may have been appended between the two reads, but what the head before counted must be there.
      if (promised > records) return faultAt(records + 1, `it is missing, of ${promised} that were written`);
      promised = kept.number;
      continue;
    }
    if (kept.number < records)
      return faultAt(kept.number + 1, `it was never written: the log ended with ${kept.number}`);
    return kept.hash === head
      ? { records, head, fault: null }
      : faultAt(records, 'it is not the one that was kept as the last');
  }
}
