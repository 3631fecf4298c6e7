/**
 * Begin here: the type of an operation, and the parts that operations of one kind share. operations.ts lists them, and
 * call/stages.ts adds them at their paths.
 */
import type { FastifyReply } from 'fastify';
import type { ChangeSource } from '../../pims/changes.ts';
import type { BatchOperation } from '../../pims/batch.ts';
import { orThrow } from '../../errors.ts';
import { getRecord, writeRecord } from '../../pims/operations.ts';
import { checkFilters, type Filter } from '../../pims/reads/query.ts';
import type { KeyedType, RecordType } from '../../pims/rules/fields.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { Rendered } from '../../pims/rules/json.ts';
import type { Body, WriteContext } from '../../pims/writes/writes.ts';
import type { UsageStore } from '../../tenant/tenant-port.ts';
import { signalOf } from '../server/connections.ts';
import { parsePage, setPageHeaders, type AnswerLimits } from './cursor.ts';
import { renderEnvelope, setTag } from '../server/answer.ts';
import { listOf, required, type Members, type Schema } from '../../json-schema.ts';
import { OPERATION_SCOPES, type OperationName } from './names.ts';
import { FIELDS, FILTERS_BODY, pageQuery, querySchema, type BodySchema } from './operation-schemas.ts';

/** A call that is authenticated, counted and validated. */
export interface Call<Shape = Body> {
  readonly store: PimsStore;
  readonly changes: ChangeSource;
  readonly usage: UsageStore;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Shape;
  readonly context: WriteContext;
  readonly reply: FastifyReply;
}

/**
 * The kinds, in this order: one record by its key; the storefront lookup, or another read without pages; the lookup of
 * many numbers; one page of records; the ledger of a part; the change feed; a write; several writes.
 */
export type OperationKind = 'single' | 'lookup' | 'lookups' | 'query' | 'ledger' | 'changes' | 'write' | 'batch';

export const isWrite = ({ name }: Pick<Operation, 'name'>): boolean => OPERATION_SCOPES[name] !== 'read';

export interface Operation {
  /** The name of the operation in the contract, the usage, the log and the documents. */
  readonly name: OperationName;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly kind: OperationKind;
  /** Whether the operation checks If-Match, because it changes a record that a single read returns with an ETag. */
  readonly takesIfMatch?: true;
  readonly query: Schema;
  readonly body?: BodySchema;
  /** The schema of `data` in the 200 response. Without it, tools/contract has one. */
  readonly answer?: Schema;
  /** The schema of `subRecords`, which are null without it. */
  readonly subRecords?: Schema;
  /** Whether the response is the answer itself, without an envelope. */
  readonly isBare?: true;
  readonly example: {
    readonly query?: Record<string, string | number>;
    readonly body?: unknown;
    readonly answer: unknown;
    readonly subRecords?: unknown;
  };
  /**
   * Lists the operation of each step of a batch. Each step counts as a call of its operation. Throws a refusal of the
   * list, which counts as one call of the batch.
   */
  readonly listSteps?: (body: unknown) => readonly OperationName[];
  /** The body of the 200 response. */
  readonly run: (call: Call<never>) => Promise<Rendered>;
}

/** Returns the parts of an operation on the record whose key is in the parameter. */
export const declareSingle = (recordType: KeyedType, record: Schema, parameter: string, about: string) =>
  ({
    method: 'GET',
    kind: 'single',
    query: querySchema({ [parameter]: required(about) }, FIELDS),
    answer: record,
    run: async ({ store, query, reply }: Call) => {
      const { record: found, tag } = await getRecord(
        store,
        recordType,
        parameter,
        query[parameter]!,
        parseFields(query),
      );
      setTag(reply, tag, query['fields']);
      return renderEnvelope(found);
    },
  }) satisfies Partial<Operation>;

/** Parses the names of the only fields to return. */
export const parseFields = ({ fields }: Call['query']): string[] | undefined => fields?.split(',');

/** Returns the parts of an operation on one page of records. `more` adds the parameter and subRecords of orders. */
export const declarePage = (
  recordType: RecordType,
  record: Schema,
  limits: AnswerLimits,
  more: { readonly query?: Members; readonly subRecords?: Schema } = {},
) =>
  ({
    method: 'POST',
    kind: 'query',
    query: pageQuery(limits, more.query),
    body: FILTERS_BODY,
    answer: listOf(record),
    ...(more.subRecords && { subRecords: more.subRecords }),
    run: async ({ store, query, body, reply }: Call<Filter[]>) => {
      checkFilters(body);
      const { sort } = query;
      const scope = { teamId: reply.request.tenant!.teamId, recordType, filters: body, sort };
      const asked = {
        filters: body,
        sort,
        ...parsePage(scope, query, limits),
        fields: parseFields(query),
        hasLines: query['include'] !== undefined,
        isCounted: query['count'] !== undefined,
        signal: signalOf(reply),
      };
      const found = orThrow(await store.queryRecords(recordType, asked));
      setPageHeaders(reply, scope, found, limits);
      return renderEnvelope(found.records, found.lines);
    },
  }) satisfies Partial<Operation>;

/** Returns the parts of a write. An Idempotency-Key makes it safe to retry. */
export const declareWrite = (name: BatchOperation, body: BodySchema, data: Schema) =>
  ({
    name,
    kind: 'write',
    query: querySchema(),
    body,
    answer: data,
    run: async ({ store, body: fields, context }: Call) =>
      renderEnvelope((await writeRecord(store, name, fields, context)).data),
  }) satisfies Partial<Operation>;
