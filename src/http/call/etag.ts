/**
 * The ETags of single reads, and the conditions on them: If-None-Match for a read, If-Match for a write. Source: RFC
 * 9110 sections 8.8.3 and 13.1.
 */
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { refuseField } from '../../errors.ts';
import type { Expected } from '../../pims/writes/script.ts';

interface EntityTag {
  readonly isWeak: boolean;
  /** The tag with its quotes. */
  readonly text: string;
}

const TAGS = /^(?:[\t ,]*(?:W\/)?"[!#-~\x80-\xff]*"[\t ]*(?=,|$))+[\t ,]*$/;
const TAG = /(W\/)?("[^"]*")/g;
/**
 * A tag of the store, and then the parts that distinguish responses of the same state: a hash of the fields, and the
 * coding.
 */
const OF_STATE = /^("[\w-]+\.[0-9a-f]{10})(\.[0-9a-f]{10})?(-(zstd|br|gzip))?"$/;
const FIELDS_HASH_CHARACTERS = 10;

/** Sets the ETag of a single read. A response with only some fields has a different ETag. */
export function setTag(reply: FastifyReply, tag: string, fields?: string): void {
  if (fields === undefined) reply.header('etag', tag);
  else {
    const ofFields = hash('sha256', fields, 'hex').slice(0, FIELDS_HASH_CHARACTERS);
    reply.header('etag', `${tag.slice(0, -1)}.${ofFields}"`);
  }
}

/** Returns whether the caller already has this response. An unreadable condition is ignored. */
export const hasAnswer = (condition: string, etag: string): boolean =>
  condition.trim() === '*' || (parseTags(condition)?.some(({ text }) => text === etag) ?? false);

/**
 * Parses the states in which the caller allows a write. Throws INVALID_IF_MATCH if they cannot be read, and
 * PRECONDITION_NOT_ALLOWED for an operation that does not check them.
 */
export function parseIfMatch(request: FastifyRequest, operation: string, isTaken: boolean): Expected | undefined {
  const header = request.headers['if-match'];
  if (header === undefined) return undefined;
  if (!isTaken)
    throw refuseField(
      'PRECONDITION_NOT_ALLOWED',
      'If-Match',
      `${operation} does not check If-Match, so nothing was done.`,
    );
  if (header.trim() === '*') return '*';
  const tags = parseTags(header);
  if (!tags) throw refuseField('INVALID_IF_MATCH', 'If-Match');
  // A weak tag never equals a strong one.
  return tags.filter(({ isWeak }) => !isWeak).map(({ text }) => text.replace(OF_STATE, '$1"'));
}

/** Returns undefined if the header is not a list of tags, or is empty. */
function parseTags(header: string): EntityTag[] | undefined {
  if (!TAGS.test(header)) return undefined;
  return Array.from(header.matchAll(TAG), ([, weak, text]) => ({ isWeak: weak !== undefined, text: text! }));
}
