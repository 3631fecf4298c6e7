/**
 * What an operation is, and what operations of one kind share. The twelve are in orders.ts, customers.ts and
 * inventory.ts; stages.ts puts them on their paths.
 */
import type { FastifyReply } from 'fastify';
import type { Filter } from '../../pims/filter.ts';
import type { Body, WriteContext } from '../../pims/writes.ts';
import type { QueryRequest } from '../../pims/port.ts';
import type { KeyedType } from '../../pims/fields.ts';
import type { Page, PimsStore } from '../../pims/port.ts';
import type { Written } from '../../pims/writes.ts';
import { parsePage, setPageHeaders, type PageLimits } from '../cursor.ts';
import { renderEnvelope, renderWritten } from '../envelope.ts';
import { listOf, required, type Schema } from '../schemas.ts';
import type { OperationName } from './names.ts';
import { envelopeOf, FILTERS_BODY, pageQuery, queryOf, type BodySchema } from './operation-schemas.ts';

export const BASE_PATH = '/tenant/api/pims/v1';

/** A call as its operation gets it: authenticated, counted, validated. */
export interface Call<Shape = Body> {
  readonly store: PimsStore;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Shape;
  readonly context: WriteContext;
  readonly reply: FastifyReply;
}

/** One record by its key, the storefront lookup, one page of records, or a write. */
export type OperationKind = 'single' | 'lookup' | 'query' | 'write';

interface OperationText {
  /** The one name of the operation: in the contract, the usage, the log and the documents. */
  readonly name: OperationName;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly tag: 'Orders' | 'Customers' | 'Inventory';
  readonly summary: string;
  readonly description: string;
}

export interface Operation extends OperationText {
  readonly kind: OperationKind;
  readonly query: Schema;
  readonly body?: BodySchema;
  readonly answer: Schema;
  readonly example: { readonly query: Record<string, string>; readonly body?: unknown; readonly answer: unknown };
  /** The body of the 200 answer. */
  readonly run: (call: Call<never>) => Promise<string>;
}

type Read = Omit<OperationText, 'method'>;

interface SingleOperation extends Read {
  readonly parameter: { readonly name: string; readonly description: string; readonly example: string };
  readonly data: Schema;
  readonly subRecords?: Schema;
  readonly example: { readonly data: unknown; readonly subRecords?: unknown };
  /** The envelope of the record with this key. */
  readonly get: (store: PimsStore, key: string) => Promise<string>;
}

/** An operation that answers one record by its key. */
export const singleOperation = ({
  parameter,
  data,
  subRecords,
  example,
  get,
  ...text
}: SingleOperation): Operation => ({
  ...text,
  method: 'GET',
  kind: 'single',
  query: queryOf({ [parameter.name]: required(parameter.description) }),
  answer: envelopeOf(data, subRecords),
  example: { query: { [parameter.name]: parameter.example }, answer: envelopeExample(example) },
  run: ({ store, query }: Call) => get(store, query[parameter.name]!),
});

interface QueryOperation extends Read {
  readonly recordType: KeyedType;
  readonly record: Schema;
  readonly example: { readonly filters: readonly Filter[]; readonly record: unknown };
  readonly find: (store: PimsStore, request: QueryRequest) => Promise<Page>;
}

/** An operation that answers one page of the records that match filters. */
export const queryOperation = (
  { recordType, record, example, find, ...text }: QueryOperation,
  limits: PageLimits,
): Operation => ({
  ...text,
  method: 'POST',
  kind: 'query',
  query: pageQuery(limits),
  body: FILTERS_BODY,
  answer: envelopeOf(listOf(record)),
  example: { query: {}, body: example.filters, answer: envelopeExample({ data: [example.record] }) },
  run: async ({ store, query, body, reply }: Call<Filter[]>) => {
    const page = await find(store, { filters: body, ...parsePage(recordType, query, limits) });
    setPageHeaders(reply, recordType, page);
    return renderEnvelope(page.records);
  },
});

interface WriteOperation extends OperationText {
  readonly body: BodySchema;
  readonly data: Schema;
  readonly example: { readonly body: unknown; readonly data: unknown };
  readonly write: (store: PimsStore, body: Body, context: WriteContext) => Promise<Written>;
}

/** An operation that changes records; an Idempotency-Key makes it repeatable. */
export const writeOperation = ({ data, example, write, ...text }: WriteOperation): Operation => ({
  ...text,
  kind: 'write',
  query: queryOf(),
  answer: envelopeOf(data),
  example: { query: {}, body: example.body, answer: envelopeExample(example) },
  run: async ({ store, body, context, reply }: Call) => renderWritten(reply, await write(store, body, context)),
});

const envelopeExample = ({ data, subRecords = null }: { data: unknown; subRecords?: unknown }): unknown => ({
  status: 'success',
  data,
  subRecords,
});
