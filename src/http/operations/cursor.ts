/**
 * Pages of a query: parses maxReturn and cursor, and sets the headers that say whether there are more records. A cursor
 * contains the position of the last record of its page, so records that are written in the meantime do not shift pages.
 * Source: decision 0005.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { refuseField } from '../../errors.ts';
import type { RecordType } from '../../pims/rules/fields.ts';
import type { Filter } from '../../pims/reads/query.ts';
import type { Page } from '../../pims/pims-port.ts';

export interface AnswerLimits {
  readonly maxReturnDefault: number;
  readonly returnMax: number;
  readonly pageBytesMax: number;
  readonly lookupRecordsMax: number;
  /** The key that signs cursors. Only the nodes of the installation know it. */
  readonly cursorKey: Uint8Array;
}

/** The query to which a cursor belongs. */
interface CursorScope {
  readonly teamId: string;
  readonly recordType: RecordType;
  readonly filters: readonly Filter[];
  readonly sort: string | undefined;
}

const SIGNATURE_BYTES = 16;

/** Returns the maximum number of records, or changes, of a page. */
export const limitOf = (maxReturn: string | undefined, { maxReturnDefault, returnMax }: AnswerLimits): number =>
  Math.min(maxReturn === undefined ? maxReturnDefault : Number(maxReturn), returnMax);

/** Parses maxReturn and the cursor. Throws INVALID_CURSOR. */
export function parsePage(scope: CursorScope, query: Readonly<Record<string, string>>, limits: AnswerLimits) {
  const { maxReturn, cursor } = query;
  const after = cursor === undefined ? '' : parseCursor(scope, cursor, limits);
  return { limit: limitOf(maxReturn, limits), bytesMax: limits.pageBytesMax, after };
}

export function setPageHeaders(reply: FastifyReply, scope: CursorScope, page: Page, limits: AnswerLimits): void {
  const { next, count } = page;
  if (count !== undefined) reply.header('x-total-count', String(count));
  if (next === null) return;
  reply.header('x-has-more', 'true').header('x-next-cursor', formatCursor(scope, next, limits));
}

/** Formats a cursor: a signature of the query and the position, followed by the position. */
function formatCursor(scope: CursorScope, position: string, { cursorKey }: AnswerLimits): string {
  const { teamId, recordType, filters, sort } = scope;
  const query = sort === undefined ? [] : [{ sort }];
  const signed = JSON.stringify([teamId, recordType, filters.map(identifyFilter), ...query, position]);
  const signature = createHmac('sha256', cursorKey).update(signed).digest().subarray(0, SIGNATURE_BYTES);
  return Buffer.concat([signature, Buffer.from(position)]).toString('base64url');
}

/**
 * Returns the same values for filters with the same meaning. The conjunction of the first filter is ignored, and AND is
 * the default.
 */
const identifyFilter = ({ field, value, op, contains, conjunction }: Filter, index: number): unknown[] => {
  const isOr = index > 0 && conjunction?.toUpperCase() === 'OR';
  if (op === undefined || op === 'eq' || op === 'contains')
    return [field, String(value), contains === true || op === 'contains', isOr];
  return [field, Array.isArray(value) ? value.map(String) : String(value ?? ''), false, isOr, op];
};

function parseCursor(scope: CursorScope, cursor: string, limits: AnswerLimits): string {
  const position = Buffer.from(cursor, 'base64url').subarray(SIGNATURE_BYTES).toString();
  const [given, issued] = [Buffer.from(cursor), Buffer.from(formatCursor(scope, position, limits))];
  if (given.length === issued.length && timingSafeEqual(given, issued)) return position;
  throw refuseField('INVALID_CURSOR', 'cursor');
}
