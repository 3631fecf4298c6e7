/** Calls operations: opens envelopes, chooses the key of a write, and combines pages and lines. */
import type { Answer, Caller, OperationName } from './caller.ts';
import { StoreroomError } from './error.ts';
import { Query, type PageRequest } from './query.ts';
import type { ChangeOptions, Filter, QueryOptions, ReadOptions } from './records.ts';

interface Envelope {
  readonly data: unknown;
  readonly subRecords: readonly { readonly ORDER_LINEITEMS: { readonly ORDER_NUMBER: string } }[] | null;
}

/** Returns the data of a response. */
export async function dataOf<T>(call: Promise<Answer>): Promise<T> {
  return ((await call).body as Envelope).data as T;
}

/** Sends a write, with one Idempotency-Key for all its tries, and returns its data. */
export function write<T>(
  caller: Caller,
  operation: OperationName,
  body: unknown,
  options: ChangeOptions = {},
): Promise<T> {
  const { idempotencyKey = crypto.randomUUID(), ifMatch, ...rest } = options;
  const headers = { 'Idempotency-Key': idempotencyKey, 'If-Match': ifMatch };
  return dataOf(caller.call(operation, { headers, body, options: rest }));
}

/** Returns a record by its key with its ETag, and an order with its lines. Returns null for a 304. */
export async function read(
  caller: Caller,
  operation: OperationName,
  key: Readonly<Record<string, string>>,
  { fields, ifNoneMatch, ...options }: ReadOptions<string> = {},
): Promise<object | null> {
  const headers = { 'If-None-Match': ifNoneMatch };
  const answer = await caller.call(operation, { query: { ...key, fields: fields?.join(',') }, headers, options });
  if (answer.status === 304) return null;
  const { data: record, subRecords } = answer.body as Envelope;
  return {
    ...(record as object),
    ...(operation === 'getOrder' && { lines: (subRecords ?? []).map((entry) => entry.ORDER_LINEITEMS) }),
    etag: answer.headers.get('ETag'),
  };
}

/** Returns the query, without a call. */
export function query<T>(
  caller: Caller,
  operation: OperationName,
  filters: readonly Filter[],
  { sort, fields, pageSize, include, ...options }: QueryOptions<string> & { include?: 'lines' | undefined },
): Query<T> {
  const isWithLines = include === 'lines';
  // The ORDER_NUMBER of a line identifies its order.
  const names = isWithLines && fields && !fields.includes('ORDER_NUMBER') ? ['ORDER_NUMBER', ...fields] : fields;
  return new Query<T>(async ({ cursor, pageSize: size = pageSize, isCounted }: PageRequest) => {
    const maxReturn = size === undefined ? undefined : String(size);
    const count = isCounted ? 'exact' : undefined;
    const parameters = { maxReturn, cursor, sort, fields: names?.join(','), count, include };
    const { headers, body } = await caller.call(operation, { query: parameters, body: filters, options });
    const { data: found, subRecords } = body as Envelope;
    const total = headers.get('X-Total-Count');
    return {
      records: (isWithLines ? addLines(found as readonly OrderKey[], subRecords ?? []) : found) as T[],
      cursor: headers.get('X-Next-Cursor') ?? undefined,
      total: total === null ? undefined : Number(total),
    };
  });
}

type OrderKey = { readonly ORDER_NUMBER: string };

function addLines(orders: readonly OrderKey[], entries: NonNullable<Envelope['subRecords']>): object[] {
  const lines = new Map<string, object[]>(orders.map(({ ORDER_NUMBER: number }) => [number, []]));
  for (const { ORDER_LINEITEMS: line } of entries) lines.get(line.ORDER_NUMBER)?.push(line);
  return orders.map((order) => ({ ...order, lines: lines.get(order.ORDER_NUMBER) }));
}

export const hasCode = (error: unknown, code: string): error is StoreroomError =>
  error instanceof StoreroomError && error.code === code;

/** Returns the record, or undefined if it does not exist. */
export async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (hasCode(error, 'NOT_FOUND')) return undefined;
    throw error;
  }
}
