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

/** Levels of lists and objects; rendering a value recurses into them. */
const NESTING_MAX = 1000;

/** A body as it was parsed, with its text, or its refusal. Empty without a body. */
export interface ReadBody {
  readonly value?: unknown;
  readonly text?: string;
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
  const text = bytes.toString('utf8');
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch (fault) {
    // Node's own message quotes the body, which may hold a secret; the position is enough.
    const place = / at position \d+/.exec((fault as Error).message)?.[0] ?? '';
    return { refusal: new Refusal('INVALID_JSON', `The body is not valid JSON${place}.`) };
  }
}

/**
 * The parsed body of a request whose caller is known. Throws its refusal, or BODY_NOT_ALLOWED for a GET with a body.
 */
export function takeBody({ headers, method }: FastifyRequest, { value, text, refusal }: ReadBody): unknown {
  const hasBody =
    headers['transfer-encoding'] !== undefined ||
    (headers['content-length'] !== undefined && headers['content-length'] !== '0');
  if (method === 'GET' && hasBody) throw new Refusal('BODY_NOT_ALLOWED');
  if (refusal) throw refusal;
  if (text === undefined) return value;
  // Each level takes two characters.
  if (text.length > 2 * NESTING_MAX && isDeeper(value, NESTING_MAX))
    throw new Refusal('INVALID_BODY', 'The body is nested too deeply.');
  if (MAYBE_INEXACT.test(text)) checkExact(text);
  return value;
}

function collect(stream: IncomingMessage, declared: number): Promise<Buffer | undefined> {
  if (declared > BODY_BYTES_MAX) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on('error', reject);
    stream.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size <= BODY_BYTES_MAX) return;
      stream.pause();
      resolve(undefined);
    });
  });
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

const isJsonType = (type = ''): boolean => /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i.test(type);

/** A number with so many digits, an exponent or so many zeros that a double may not hold it. Strings match as well. */
const MAYBE_INEXACT = /\d(?=[\d.]{15}|[\d.]*[eE]|\.0{6})/;
/** A string with the colon that makes it a name, or a number that may be inexact. */
const NAME_OR_NUMBER = /"((?:[^"\\]+|\\.)*)"(\s*:)?|-?\d(?=[\d.]{15}|[\d.]*[eE]|\.0{6})[-+.\deE]*/g;

/** Throws INVALID_VALUE for a number in valid JSON that a double cannot hold exactly. */
function checkExact(json: string): void {
  let name = '';
  for (const [token, text, colon] of json.matchAll(NAME_OR_NUMBER)) {
    if (colon !== undefined) name = text!;
    if (text !== undefined || isExact(token)) continue;
    const field = (JSON.parse(`"${name}"`) as string).slice(0, 64);
    const message = `${field}: the number ${token.slice(0, 64)} cannot be kept exactly; send it as a string.`;
    throw new Refusal('INVALID_VALUE', message, { field });
  }
}

function isExact(source: string): boolean {
  const value = Number(source);
  const printed = String(value);
  if (printed === source) return true;
  const digits = source
    .replace(/[eE].*$/, '')
    .replace(/[^0-9]/g, '')
    .replace(/^0+/, '');
  const hasVanished = value === 0 && digits !== '';
  return Number.isFinite(value) && !printed.includes('e') && !hasVanished && digits.length <= EXACT_DIGITS;
}
