/**
 * Renders the bytes of a response: envelope, error body and headers, with the ETag of a single read and the conditions
 * on it (RFC 9110 sections 8.8.3 and 13.1). Sends a response after the count of its call is on disk.
 */
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { refuseField, ERRORS, type Refusal } from '../../errors.ts';
import type { Rendered } from '../../pims/rules/json.ts';
import type { Expected } from '../../pims/writes/script.ts';
import { hideSecrets } from '../../tenant/secrets.ts';
import { chooseCoding, compress, COMPRESSED_BYTES_LEAST, tagOfCoding, type Coding } from './compression.ts';
import { JSON_TYPE } from './protocol.ts';

interface EntityTag {
  readonly isWeak: boolean;
  /** The tag with its quotes. */
  readonly text: string;
}

const TAGS = /^(?:[\t ,]*(?:W\/)?"[!#-~\x80-\xff]*"[\t ]*(?=,|$))+[\t ,]*$/;
const TAG = /(W\/)?("[^"]*")/g;
/**
 * Matches a tag of the store, and then the parts that distinguish responses of the same state: a hash of the requested
 * fields, and the coding.
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
 * Parses If-Match: the record must have one of its tags. Throws INVALID_IF_MATCH if it cannot be read, and
 * PRECONDITION_NOT_ALLOWED for an operation that does not check it.
 */
export function parseIfMatch(request: FastifyRequest, operation: string, isTaken = false): Expected | undefined {
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

/** Parses a list of tags. Returns undefined if the header is empty or not a list of tags. */
function parseTags(header: string): EntityTag[] | undefined {
  if (!TAGS.test(header)) return undefined;
  return Array.from(header.matchAll(TAG), ([, weak, text]) => ({ isWeak: weak !== undefined, text: text! }));
}

/** Minimum length of an uncompressed text that occupies room (server/load.ts) until the caller has received it. */
const LARGE_CHARACTERS_LEAST = 16 * 1024;
/** Minimum size of a buffer that is freed eagerly. Kept responses are smaller. */
const FREED_BYTES_LEAST = 256 * 1024;

/** Puts `{"status":"success","data":…,"subRecords":…}` around the store's JSON, whose bytes may not be used again. */
export function renderEnvelope(data: Rendered, subRecords: Rendered | null = null): Rendered {
  if (typeof data === 'string' && (subRecords === null || typeof subRecords === 'string'))
    return `{"status":"success","data":${data},"subRecords":${subRecords}}`;
  const parts = ['{"status":"success","data":', data, ',"subRecords":', subRecords ?? 'null', '}'];
  const answer = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  for (const part of parts) if (typeof part !== 'string') free(part);
  return answer;
}

/** Frees large buffers eagerly; otherwise V8 runs a full collection every few pages. */
function free({ buffer, byteLength }: Uint8Array) {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isWhole && byteLength >= FREED_BYTES_LEAST) buffer.transfer(0);
}

/**
 * Renders
 * `{"status":"error","data":null,"subRecords":null,"message":…,"code":…,"remedy":…,"docs":"/docs/errors#CODE","field"?:…,
 * "suggestion"?:…,"step"?:…,"earliest"?:…,"requestId":…}`.
 */
export function renderError({ message, code, field, suggestion, step, earliest }: Refusal, requestId: string): string {
  const shown = {
    message: hideSecrets(message),
    code,
    remedy: ERRORS[code].remedy,
    docs: `/docs/errors#${code}`,
    field: field && hideSecrets(field),
    suggestion,
    step,
    earliest,
    requestId,
  };
  return JSON.stringify({ status: 'error', data: null, subRecords: null, ...shown });
}

/**
 * Sends a response when its count is on disk, compressed if the caller accepts that. Sends the response of a read only
 * if there is room for it. The bytes of `body` may not be used again. Throws if the call cannot be counted.
 */
export async function sendAnswer(reply: FastifyReply, httpStatus: number, body: Rendered, isRead = false) {
  const { request } = reply;
  const { counted, load, limits } = request;
  if (counted) {
    const monthRequests = await counted.monthRequests();
    reply.header('x-month-requests', monthRequests);
    if (limits) reply.headers(limits.renderHeaders(request.tenant!, monthRequests, new Date(request.now)));
  }
  const coding = chooseCodingFor(body, request.headers['accept-encoding']);
  const condition = request.headers['if-none-match'];
  const etag = isRead && condition !== undefined && reply.getHeader('etag');
  if (typeof etag === 'string') {
    const tag = coding ? tagOfCoding(etag, coding) : etag;
    if (hasAnswer(condition!, tag)) return sendNotModified(reply, tag, coding);
  }
  // The bytes of a large response stay in memory, but not its text.
  const made = typeof body === 'string' && body.length >= LARGE_CHARACTERS_LEAST ? Buffer.from(body) : body;
  const madeBytes = countBytes(reply, made);
  if (isRead && madeBytes > 0) load.checkRoom(request, madeBytes);
  const sent = coding ? await packAnswer(reply, made, coding) : made;
  const bytes = countBytes(reply, sent);
  load.answered(request, bytes);
  // When the response is finished, the operating system has the bytes.
  if (typeof sent !== 'string' && bytes >= FREED_BYTES_LEAST) reply.raw.once('finish', () => free(sent));
  // Fastify drops the content type of a response that began as an error.
  return reply.header('content-type', JSON_TYPE).code(httpStatus).send(sent);
}

/** Returns the bytes that occupy room until the response is received: 0 for a text, or if the caller is gone. */
const countBytes = ({ raw }: FastifyReply, sent: Rendered) =>
  typeof sent === 'string' || raw.destroyed ? 0 : sent.length;

/** Chooses the coding that the caller prefers. Returns undefined if the response is small or no coding is accepted. */
function chooseCodingFor(answer: Rendered, accepted: string | undefined): Coding | undefined {
  if (accepted === undefined) return undefined;
  const isSmall = (typeof answer === 'string' ? Buffer.byteLength(answer) : answer.length) < COMPRESSED_BYTES_LEAST;
  return isSmall ? undefined : chooseCoding(accepted);
}

/** Compresses the response and sets the headers of its coding. */
async function packAnswer(reply: FastifyReply, answer: Rendered, coding: Coding): Promise<Rendered> {
  const bytes = typeof answer === 'string' ? Buffer.from(answer) : answer;
  reply.request.load.holdAnswer(reply.request, countBytes(reply, answer));
  const packed = await compress(bytes, coding, reply.raw);
  free(bytes);
  // Nothing was compressed, because the caller has disconnected.
  if (!packed) return '';
  reply.headers({ 'content-encoding': coding, vary: 'accept-encoding' });
  const tag = reply.getHeader('etag');
  if (typeof tag === 'string') reply.header('etag', tagOfCoding(tag, coding));
  return packed;
}

/** Responds to a read whose caller already has the response: no body, but the ETag and Vary of the full response. */
function sendNotModified(reply: FastifyReply, etag: string, coding: Coding | undefined): FastifyReply {
  reply.request.load.answered(reply.request, 0);
  if (coding) reply.header('vary', 'accept-encoding');
  return reply.header('etag', etag).code(304).send();
}
