/**
 * ETags of single reads, and what callers send of them again: If-None-Match asks whether an answer is still as it was,
 * If-Match lets a write happen only then. Source: RFC 9110 sections 8.8.3 and 13.1, additions section 6.
 */
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../errors.ts';
import type { Expected } from '../../pims/writes/script.ts';

interface EntityTag {
  readonly isWeak: boolean;
  /** With its quotes. */
  readonly text: string;
}

const TAG = /[\t ,]*(W\/)?("[!#-~\x80-\xff]*")[\t ]*(?=,|$)/y;
const END = /[\t ,]*$/y;
/** A tag of the store, and behind it what sets an answer apart from others of the same state: its fields, its coding. */
const OF_STATE = /^("[\w-]+\.[0-9a-f]{10})(\.[0-9a-f]{10})?(-(zstd|br|gzip))?"$/;
const FIELDS_HASH_CHARACTERS = 10;

/** Gives the answer of a single read its ETag. An answer of only these fields has one of its own. */
export function setTag(reply: FastifyReply, tag: string, fields?: string): void {
  if (fields === undefined) reply.header('etag', tag);
  else {
    const ofFields = hash('sha256', fields, 'hex').slice(0, FIELDS_HASH_CHARACTERS);
    reply.header('etag', `${tag.slice(0, -1)}.${ofFields}"`);
  }
}

/** Whether the caller has this answer already. What cannot be read is no condition: then the answer goes out. */
export const hasAnswer = (condition: string, etag: string): boolean =>
  condition.trim() === '*' || (parseTags(condition)?.some(({ text }) => text === etag) ?? false);

/**
 * The states that the caller lets a write begin with. INVALID_IF_MATCH when they cannot be read, PRECONDITION_NOT_ALLOWED
 * for an operation that does not check them.
 */
export function parseIfMatch(request: FastifyRequest, operation: string, isTaken: boolean): Expected | undefined {
  const header = request.headers['if-match'];
  if (header === undefined) return undefined;
  const field = 'If-Match';
  if (!isTaken)
    throw new Refusal('PRECONDITION_NOT_ALLOWED', `${operation} does not check If-Match, so nothing was done.`, {
      field,
    });
  if (header.trim() === '*') return '*';
  const tags = parseTags(header);
  if (!tags) throw new Refusal('INVALID_IF_MATCH', undefined, { field });
  // A weak one is never the same as a strong one.
  return tags.filter(({ isWeak }) => !isWeak).map(({ text }) => text.replace(OF_STATE, '$1"'));
}

/** Undefined when it is no list of tags, or has none. */
function parseTags(header: string): EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  TAG.lastIndex = 0;
  let end = 0;
  for (let found = TAG.exec(header); found; found = TAG.exec(header)) {
    tags.push({ isWeak: found[1] !== undefined, text: found[2]! });
    end = TAG.lastIndex;
  }
  END.lastIndex = end;
  return tags.length > 0 && END.test(header) ? tags : undefined;
}
