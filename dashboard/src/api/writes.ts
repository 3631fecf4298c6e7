/** Writes of records with the API's operations below /dashboard/api/records, which are not counted. */
import { useRef } from 'preact/hooks';
import type { Values } from '../../../src/pims/rules/values.ts';
import { ApiError, fetchOperation, hasCode } from './client.ts';
import { KINDS, loadRecord, type Kind, type LoadedRecord } from './records.ts';
import { labelOf } from '../ui/text/label.ts';

type Step = { readonly operation: string; readonly body: Values };

/** Sends one write and returns its data. */
export async function write<T>(
  method: 'POST' | 'PUT',
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<T> {
  return (await fetchOperation<{ data: T }>(method, path, {}, body, { headers })).body.data;
}

/** Sends several writes as one: all happen, or none. The key makes a second click harmless. Returns their data. */
export async function writeBatch(steps: readonly Step[], key: string): Promise<unknown[]> {
  const done = await write<{ data: unknown }[]>('POST', '/batch', steps, { 'idempotency-key': key });
  return done.map(({ data }) => data);
}

/**
 * Returns a function that sends changed fields of a record if no one has changed it since it was read. If someone has,
 * it reads the record again and throws an error that names what else changed, so that the form can be sent again.
 */
export function useSave(kind: Kind, record: LoadedRecord): (path: string, body: unknown) => Promise<void> {
  /** The record that the form began with. After a conflict it is the current record. */
  const known = useRef(record);
  return async (path, body) => {
    const { values: before, tag } = known.current;
    try {
      await write('POST', path, body, { 'if-match': tag });
    } catch (fault) {
      if (!hasCode(fault, 'RECORD_CHANGED')) throw fault;
      known.current = await loadRecord(kind, before[KINDS[kind].key] ?? '');
      const what = Object.entries(known.current.values)
        .filter(([name, value]) => value !== before[name] && name !== 'MODIFIED_DATE')
        .map(([name, value]) => `${labelOf(name)} is now “${value}”.`)
        .join(' ');
      const message = `Someone else changed this meanwhile. ${what} Your changes are kept here; save again to apply them.`;
      throw new ApiError(fault.code, message, 412);
    }
  };
}
