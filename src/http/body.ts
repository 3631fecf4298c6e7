/**
 * The body of a request: application/json in UTF-8, at most BODY_BYTES_MAX. It is read before the caller is known, as
 * it may hold the credentials; a refusal of the body waits until the call is counted. Source: decisions "Order of the
 * checks", RFC 8259.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../errors.ts';

export const BODY_BYTES_MAX = 256 * 1024;
/** Doubles print and read back exactly up to this many significant digits. */
const EXACT_DIGITS = 15;

/** The parsed body, its refusal, or both: a refused body can still hold the credentials. */
export interface ReadBody {
  readonly value?: unknown;
  readonly refusal?: Refusal;
}

/**
 * Content-type parser for every media type. A body that is too large stays unread, and the connection is then closed.
 */
export async function readBody(request: FastifyRequest, stream: IncomingMessage): Promise<ReadBody> {
  const bytes = await collect(stream, Number(request.headers['content-length'] ?? 0)).catch(() => {
    throw new Refusal('MALFORMED_REQUEST', 'The connection ended before the body did.');
  });
  if (!bytes) return { refusal: new Refusal('BODY_TOO_LARGE', `The body is larger than ${BODY_BYTES_MAX} bytes.`) };
  if (bytes.length === 0) return {};
  if (!isJsonType(request.sentType) || request.headers['content-encoding'] !== undefined)
    return { refusal: new Refusal('UNSUPPORTED_MEDIA_TYPE') };
  if (!isUtf8(bytes)) return { refusal: new Refusal('INVALID_JSON') };
  let inexact: Refusal | undefined;
  const look = (name: string, value: unknown, context: { source?: string }): unknown => {
    inexact ??= checkExact(name, value, context.source);
    return value;
  };
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'), look as Reviver);
    return inexact ? { value, refusal: inexact } : { value };
  } catch (fault) {
    if (fault instanceof RangeError) return { refusal: new Refusal('INVALID_BODY', 'The body is nested too deeply.') };
    // Node's own message quotes the body, which may hold a secret; the position is enough.
    const place = / at position \d+/.exec((fault as Error).message)?.[0] ?? '';
    return { refusal: new Refusal('INVALID_JSON', `The body is not valid JSON${place}.`) };
  }
}

/**
 * The parsed body of a request whose caller is known. Throws its refusal, or BODY_NOT_ALLOWED for a GET with a body.
 */
export function takeBody({ headers, method }: FastifyRequest, { value, refusal }: ReadBody): unknown {
  const hasBody =
    headers['transfer-encoding'] !== undefined ||
    (headers['content-length'] !== undefined && headers['content-length'] !== '0');
  if (method === 'GET' && hasBody) throw new Refusal('BODY_NOT_ALLOWED');
  if (refusal) throw refusal;
  return value;
}

async function collect(stream: IncomingMessage, declared: number): Promise<Buffer | undefined> {
  if (declared > BODY_BYTES_MAX) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
}

const isJsonType = (type = ''): boolean => /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(type);

/** TypeScript's type of a reviver lacks the source text of a number. */
type Reviver = (name: string, value: unknown) => unknown;

/** Refuses a number that a double cannot hold exactly. */
function checkExact(name: string, value: unknown, source = ''): Refusal | undefined {
  if (typeof value !== 'number') return undefined;
  const mantissa = source.replace(/[eE].*$/, '');
  const digits = mantissa.replace(/[^0-9]/g, '').replace(/^0+/, '');
  const printed = String(value);
  const hasVanished = value === 0 && digits !== '';
  const isInRange = Number.isFinite(value) && !printed.includes('e') && !hasVanished;
  if (printed === source || (isInRange && digits.length <= EXACT_DIGITS)) return undefined;
  const field = name.slice(0, 64);
  const message = `${field}: the number ${source.slice(0, 64)} cannot be kept exactly; send it as a string.`;
  return new Refusal('INVALID_VALUE', message, { field });
}
