/** The operation that reads the change feed. */
import { awaitChanges, CHANGED_TYPES, type Change, type ChangePage } from '../../pims/changes.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { KeyedType } from '../../pims/rules/fields.ts';
import type { Json } from '../../pims/rules/json.ts';
import { renderEnvelope } from '../server/answer.ts';
import { limitOf, type AnswerLimits } from './cursor.ts';
import { textOf, listOf, required } from '../../json-schema.ts';
import { signalOf } from '../server/connections.ts';
import { ref, querySchema, afterOf, maxReturnOf } from './operation-schemas.ts';
import type { Operation, Call } from './operation.ts';

const WAIT_SECONDS_MAX = 55;
/** Maximum changes whose records are read at the same time. */
const RECORDS_AT_ONCE = 50;
const CHANGED_TYPE = `(${CHANGED_TYPES.join('|')})`;
const CHANGE_EXAMPLE: Omit<Change, 'changes'> = {
  seq: '1024',
  type: 'orders',
  key: '10350',
  change: 'updated',
  at: '2026-11-20T16:41:07.312Z',
  operation: 'import',
  by: 'import',
};

/** Builds the operation that reads the change feed and can wait for a change. */
export const changesOperation = (limits: AnswerLimits): Operation => ({
  name: 'listChanges',
  method: 'GET',
  path: '/changes',
  summary: 'Changes since a position',
  description:
    'Returns what was created and updated after a position, in the order in which it became visible. After you have read up to X-Next-After, no change ever appears at or below it. Without after, starts at the current position; X-Next-After says where to continue.',
  kind: 'changes',
  query: querySchema(
    {},
    {
      after: afterOf('X-Next-After of the previous page. 0 starts with the first change (410 if that is gone).'),
      types: required(`Comma-separated types of records. Default ${CHANGED_TYPES.join(',')}.`, {
        pattern: `^${CHANGED_TYPE}(,${CHANGED_TYPE})*$`,
      }),
      maxReturn: maxReturnOf(limits),
      wait: textOf(`Seconds to wait for a change if there is none, 0 to ${WAIT_SECONDS_MAX}. Default 0.`, {
        pattern: '^([1-4]?[0-9]|5[0-5])$',
      }),
      include: textOf('records adds the current state of each record, and changes the changed fields.', {
        enum: ['records', 'changes', 'records,changes'],
      }),
    },
  ),
  answer: listOf(ref('Change')),
  example: { answer: [CHANGE_EXAMPLE] },
  run: async ({ changes: source, query, reply }: Call) => {
    const { after, types, maxReturn, wait = '0', include } = query;
    const asked = {
      after: after === undefined ? undefined : Number(after),
      types: (types?.split(',') ?? CHANGED_TYPES) as KeyedType[],
      limit: limitOf(maxReturn, limits),
    };
    const { request } = reply;
    const signal = signalOf(reply);
    const readFeed = (ended: AbortSignal): Promise<ChangePage> => awaitChanges(source, asked, ended, signal);
    const found = await (wait === '0'
      ? readFeed(AbortSignal.abort())
      : request.load.waitForChange(request, Number(wait) * 1000, signal(), readFeed));
    const render = include?.includes('changes') ? renderWithFields : renderChange;
    const rendered = include?.includes('records')
      ? await renderWithRecords(await source.openPims(), found.changes, render, limits.pageBytesMax, signal)
      : found.changes.map(render);
    const cut = found.changes[rendered.length];
    reply
      .header('x-next-after', String(cut ? Number(cut.seq) - 1 : found.next))
      .header('x-has-more', String(cut !== undefined || found.hasMore));
    return renderEnvelope(`[${rendered.join(',')}]`);
  },
});

function renderChange(change: Change): Json {
  const { changes: _, ...shown } = change;
  return JSON.stringify(shown);
}

function renderWithFields({ changes, ...change }: Change): Json {
  const fields = changes.map(([field, from, to, line]) => ({ field, from, to, line }));
  return JSON.stringify({ ...change, changes: fields });
}

/** Renders changes with their records, as far as a page has room for them. The first change always has its record. */
async function renderWithRecords(
  store: PimsStore,
  changes: readonly Change[],
  render: (change: Change) => Json,
  bytesMax: number,
  signal: () => AbortSignal,
): Promise<Json[]> {
  const rendered: Json[] = [];
  for (let bytes = 0; rendered.length < changes.length && !signal().aborted;) {
    const some = changes.slice(rendered.length, rendered.length + RECORDS_AT_ONCE);
    const found = await Promise.all(some.map(({ type, key }) => store.getRecord(type, key)));
    for (const [index, change] of some.entries()) {
      const json = `${render(change).slice(0, -1)},"record":${found[index]?.record ?? 'null'}}`;
      bytes += Buffer.byteLength(json);
      if (bytes > bytesMax && rendered.length > 0) return rendered;
      rendered.push(json);
    }
  }
  return rendered;
}
