/**
 * Pages of a query: parses maxReturn and cursor, and sets the headers that say whether there is more. A cursor holds
 * the key of the last record of its page, so records written meanwhile shift nothing. Source: decisions "maxReturn".
 */
import { crc32 } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import { Refusal } from '../errors.ts';
import type { KeyedType } from '../pims/fields.ts';
import type { Page, QueryRequest } from '../pims/port.ts';

/** How much one answer holds. */
export interface AnswerLimits {
  readonly maxReturnDefault: number;
  readonly maxReturnMost: number;
  readonly pageBytesMost: number;
  readonly lookupRecordsMost: number;
}

const PREFIXES = { orders: 'o', customers: 'c', inventory: 'i' } as const satisfies Record<KeyedType, string>;

export function parsePage(
  recordType: KeyedType,
  query: Readonly<Record<string, string>>,
  limits: AnswerLimits,
): Pick<QueryRequest, 'limit' | 'bytesMax' | 'after'> {
  const { maxReturn, cursor } = query;
  const limit = Math.min(maxReturn === undefined ? limits.maxReturnDefault : Number(maxReturn), limits.maxReturnMost);
  return { limit, bytesMax: limits.pageBytesMost, after: cursor === undefined ? '' : parseCursor(recordType, cursor) };
}

export function setPageHeaders(reply: FastifyReply, recordType: KeyedType, { next }: Page): void {
  if (next === null) return;
  reply.header('x-has-more', 'true').header('x-next-cursor', formatCursor(recordType, next));
}

/** The key behind a checksum over type and key, which finds a cursor that was cut short. */
function formatCursor(recordType: KeyedType, key: string): string {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(PREFIXES[recordType] + key));
  return PREFIXES[recordType] + Buffer.concat([checksum, Buffer.from(key, 'utf8')]).toString('base64url');
}

function parseCursor(recordType: KeyedType, cursor: string): string {
  const key = Buffer.from(cursor.slice(1), 'base64url').subarray(4).toString('utf8');
  // No key has a NUL character; a forged cursor could bring one to the store.
  if (key === '' || key.includes('\0') || cursor !== formatCursor(recordType, key))
    throw new Refusal('INVALID_CURSOR', undefined, { field: 'cursor' });
  return key;
}
