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

interface VerifyOptions {
  /** The hash of a record, which someone kept elsewhere. */
  readonly kept?: string | undefined;
  readonly ended?: AbortSignal | undefined;
}

/**
 * Verifies the numbers, the hashes and the head of the log, including records that are appended in the meantime, and
 * that the record with the kept hash is there. Throws once `ended` is aborted.
 */
export async function verifyAudit(
  store: Pick<AuditStore, 'loadAuditFrom' | 'loadAuditHead'>,
  teamId: string,
  { kept, ended }: VerifyOptions = {},
): Promise<AuditCheck> {
  let records = 0;
  let head = '';
  let promised = 0;
  let isKeptThere = kept === undefined;
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
      isKeptThere ||= head === kept;
    }
    if (page.length === PAGE_RECORDS) continue;
    const last = await store.loadAuditHead(teamId);
    if (last.number > records) {
      // Records may have been appended between the two reads, but those that the previous head counted must be there.
      if (promised > records) return faultAt(records + 1, `it is missing, although ${promised} records were written`);
      promised = last.number;
      continue;
    }
    if (last.number < records)
      return faultAt(last.number + 1, `the service never wrote it: the log ended with record ${last.number}`);
    if (last.hash !== head) return faultAt(records, 'it is not the last record that the service wrote');
    if (!isKeptThere) return faultAt(records + 1, `it is missing, or all were rewritten: none has the hash ${kept}`);
    return { records, head, fault: null };
  }
}
