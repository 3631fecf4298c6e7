/** Writes of records with the API's operations below /dashboard/api/records, which are not counted. */
import type { Values } from '../../../src/pims/rules/values.ts';
import { ApiError, fetchOperation, hasCode } from './client.ts';
import { type Kind, loadRecord } from './records.ts';
import { labelOf } from '../ui/text/label.ts';

type Step = { readonly operation: string; readonly body: Values };

/** Sends one write and returns its data. */
export async function write<T>(
  method: 'POST' | 'PUT',
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<T> {
  return (await fetchOperation<{ data: T }>('/records', method, path, {}, body, { headers })).body.data;
}

/** Sends several writes as one: all happen, or none. The key makes a second click harmless. Returns their data. */
export async function writeBatch(steps: readonly Step[], key: string): Promise<unknown[]> {
  const done = await write<{ data: unknown }[]>('POST', '/batch', steps, { 'idempotency-key': key });
  return done.map(({ data }) => data);
}

/** The record that a form began with. After a conflict it holds the current record. */
export interface EditedRecord {
  values: Values;
  tag: string;
}

/**
 * Sends changed fields of a record if no one has changed it since it was read. If someone has, reads it again into
 * `edited` and throws an error that names what else changed, so that the form can be sent again.
 */
export async function saveRecord(
  kind: Exclude<Kind, 'inventory'>,
  key: string,
  edited: EditedRecord,
  send: (headers: Record<string, string>) => Promise<unknown>,
): Promise<void> {
  try {
    await send({ 'if-match': edited.tag });
  } catch (fault) {
    if (!hasCode(fault, 'RECORD_CHANGED')) throw fault;
    const before = edited.values;
    const { values, tag } = await loadRecord(kind, key);
    const changed = Object.keys(values).filter((name) => values[name] !== before[name] && name !== 'MODIFIED_DATE');
    Object.assign(edited, { values, tag });
    const what = changed.map((name) => `${labelOf(name)} is now “${values[name]}”.`).join(' ');
    const message = `Someone else changed this meanwhile. ${what} Your changes are kept here; save again to apply them.`;
    throw new ApiError(fault.code, message, 412);
  }
}
