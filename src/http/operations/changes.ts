/** The operation that reads the change feed, and waits for a change. */
import { awaitChanges, CHANGED_TYPES, type Change, type ChangePage } from '../../pims/changes.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { KeyedType } from '../../pims/rules/fields.ts';
import type { Json } from '../../pims/writes/script.ts';
import { renderEnvelope } from '../call/answer.ts';
import { limitOf, type AnswerLimits } from '../call/cursor.ts';
import { listOf, NULL, objectOf, required, textOf } from '../contract/json-schema.ts';
import { signalOf } from '../server/connections.ts';
import { envelopeOf, maxReturnOf, queryOf, ref } from './operation-schemas.ts';
import { envelope, type Call, type Operation } from './operation.ts';

const WAIT_SECONDS_MAX = 25;
/** Changes whose records are read at the same time. */
const RECORDS_AT_ONCE = 50;
const TYPE = `(${CHANGED_TYPES.join('|')})`;
const EXAMPLE: Change = {
  seq: '1024',
  type: 'orders',
  key: '10350',
  change: 'updated',
  at: '2026-11-20T16:41:07.312Z',
  operation: 'import',
};

const CHANGE = objectOf(
  {
    seq: textOf('Number of the change. Numbers ascend and can have gaps.', { pattern: '^[0-9]+$' }),
    type: textOf('Type of the record. A change to a line counts as a change to its order.', { enum: CHANGED_TYPES }),
    key: textOf('Key of the record: ORDER_NUMBER, CUSTOMER_CODE or PART_CODE.'),
    change: textOf('Whether the write created or updated the record.', { enum: ['created', 'updated'] }),
    at: textOf('Time of the write in UTC, in ISO 8601.'),
    operation: textOf('Operation or command that wrote it, such as addLineItem or import; "" if it is not known.'),
  },
  {
    record: {
      anyOf: [ref('Order'), ref('Customer'), ref('InventoryItem'), NULL],
      description: 'The current state of the record; null if it is missing. Only with include=records.',
    },
  },
);

export const changesOperation = (limits: AnswerLimits): Operation => ({
  name: 'listChanges',
  method: 'GET',
  path: '/changes',
  summary: 'Changes since a position',
  description:
    'Returns what was created and updated after a position, in the order in which it became visible. After you have read up to X-Next-After, no change ever appears at or below it. Without after, returns no changes, and X-Next-After is the current position.',
  kind: 'changes',
  query: queryOf(
    {},
    {
      after: textOf('X-Next-After of the previous page; 0 starts with the first change.', { pattern: '^[0-9]{1,15}$' }),
      types: required(`Comma-separated types of records. Default ${CHANGED_TYPES.join(',')}.`, {
        pattern: `^${TYPE}(,${TYPE})*$`,
      }),
      maxReturn: maxReturnOf(limits),
      wait: textOf(`Seconds to wait for a change if there is none, 0 to ${WAIT_SECONDS_MAX}. Default 0.`, {
        pattern: '^([0-9]|1[0-9]|2[0-5])$',
      }),
      include: textOf('Set to records to get the current state of each record.', { enum: ['records'] }),
    },
  ),
  answer: envelopeOf(listOf(CHANGE)),
  example: { answer: envelope([EXAMPLE]) },
  run: async ({ changes: source, query, reply }: Call) => {
    const { after, types, maxReturn, wait = '0', include } = query;
    const asked = {
      after: after === undefined ? undefined : Number(after),
      types: (types?.split(',') ?? CHANGED_TYPES) as KeyedType[],
      limit: limitOf(maxReturn, limits),
    };
    const { request } = reply;
    const read = (ended: AbortSignal): Promise<ChangePage> => awaitChanges(source, asked, ended);
    const page = await (wait === '0'
      ? read(AbortSignal.abort())
      : request.load.wait(request, Number(wait) * 1000, signalOf(reply)(), read));
    const rendered = include
      ? await renderWithRecords(await source.open(), page.changes, limits.pageBytesMost)
      : page.changes.map((change) => JSON.stringify(change));
    const cut = page.changes[rendered.length];
    reply
      .header('x-next-after', String(cut ? Number(cut.seq) - 1 : page.next))
      .header('x-has-more', String(cut !== undefined || page.hasMore));
    return renderEnvelope(`[${rendered.join(',')}]`);
  },
});

/** Renders changes with their records, as far as a page has room for them. The first change always has its record. */
async function renderWithRecords(store: PimsStore, changes: readonly Change[], bytesMax: number): Promise<Json[]> {
  const rendered: Json[] = [];
  for (let bytes = 0; rendered.length < changes.length;) {
    const some = changes.slice(rendered.length, rendered.length + RECORDS_AT_ONCE);
    const found = await Promise.all(some.map(({ type, key }) => store.getRecord(type, key)));
    for (const [index, change] of some.entries()) {
      const json = `${JSON.stringify(change).slice(0, -1)},"record":${found[index]?.record ?? 'null'}}`;
      bytes += Buffer.byteLength(json);
      if (bytes > bytesMax && rendered.length > 0) return rendered;
      rendered.push(json);
    }
  }
  return rendered;
}
