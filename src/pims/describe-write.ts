/** Describes a write for the audit log: the record that it changed, and what it did in a few words. */
import type { Body } from './writes/writes.ts';

/** Maximum fields of a write that the audit log names. */
const FIELDS_NAMED_MAX = 20;
/** Members whose values the audit log keeps, for movements of stock, voids and returns. */
const KEPT = { QUANTITY: 'quantity', REASON: 'reason' } as const;

/** The key of a record, a record, or the answers of the steps of a batch. */
type WrittenData = string | Readonly<Record<string, string>> | readonly { readonly data: WrittenData }[];
type BatchBody = readonly { readonly operation: string; readonly body: Body }[];

/** Returns the record that a write changed (of a batch, the first one), and the names of the sent fields or steps. */
export function describeWrite(body: Body | BatchBody, data: WrittenData): [target: string, Record<string, string>] {
  if (isBatch(body)) {
    const [target] = describeWrite(body[0]!.body, (data as [{ data: WrittenData }])[0].data);
    return [target, { steps: body.map(({ operation }) => operation).join(' ') }];
  }
  const named = typeof data === 'string' ? { ORDER_NUMBER: data } : (data as Record<string, string>);
  const { ORDER_NUMBER, PART_CODE = '', BACKORDER_NUMBER }: Record<string, string> = named;
  const detail: Record<string, string> = { fields: nameFields(body) };
  // A new or changed record can have fields with these names. It returns no BACKORDER_NUMBER, and has no lines.
  if (ORDER_NUMBER === undefined || BACKORDER_NUMBER !== undefined || 'lines' in body)
    for (const [name, kept] of Object.entries(KEPT)) if (body[name]) detail[kept] = String(body[name]);
  if (BACKORDER_NUMBER) detail['backorder'] = BACKORDER_NUMBER;
  return [ORDER_NUMBER ?? PART_CODE, detail];
}
const isBatch = (body: Body | BatchBody): body is BatchBody => Array.isArray(body);

const nameFields = (values: object): string => Object.keys(values).slice(0, FIELDS_NAMED_MAX).join(' ');
