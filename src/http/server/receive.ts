/**
 * The first stage of a request: the limits of its URL, headers and body, and the headers of every response (decision
 * 0007). A body is application/json in UTF-8. If it may hold the credentials, it is read before the caller is known. A
 * refusal of the body waits until the call is counted.
 */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import type { FastifyRequest, FastifyInstance, FastifyReply } from 'fastify';
import type { SignedIn } from '../../account/account-port.ts';
import type { Clock } from '../../clock.ts';
import { Refusal, refuseForNow, refuseField } from '../../errors.ts';
import type { CountedCall, Limits } from '../../tenant/calls.ts';
import type { CallingKey, Tenant } from '../../tenant/tenant-port.ts';
import { invite, attach } from './connections.ts';
import type { BodyInRoom, Lane, ServiceLoad, TenantShare } from './load.ts';
import { BASE_PATH, JSON_TYPE, STATIC_HEADERS } from './protocol.ts';

export const BODY_BYTES_MAX = 256 * 1024;
export const BATCH_BYTES_MAX = 1024 * 1024;
/** Maximum significant digits that a double reads and prints exactly. */
const EXACT_DIGITS = 15;

/** Maximum levels of lists and objects, into which rendering recurses. */
const NESTING_MAX = 1000;

/** The bytes of a body or its refusal, and its text and value once it is parsed. Empty without a body. */
export interface ReadBody {
  bytes?: Buffer | undefined;
  text?: string | undefined;
  value?: unknown;
  /** The members of all objects in the value; NaN if it is nested too deeply. */
  members?: number;
  refusal?: Refusal | undefined;
}

/** Makes IDs with the process's microseconds: they ascend, for the request log, but hide the number of requests. */
export function makeRequestIds(clock: Clock): () => string {
  const boot = randomBytes(6).toString('base64url');
  let last = 0;
  return () => `${boot}-${(last = Math.max(last + 1, Math.floor(clock.elapsed() * 1000))).toString(36)}`;
}

/** Reads a body of any media type. Does not read all of a body that is too large, whose connection then ends. */
export async function readBody(request: FastifyRequest, stream: IncomingMessage): Promise<ReadBody> {
  const bytesMax = request.routeOptions.bodyLimit;
  const isTooLarge = Number(stream.headers['content-length'] ?? 0) > bytesMax;
  if (!isTooLarge) invite(stream);
  const bytes = isTooLarge ? undefined : await collect(request, stream, bytesMax);
  if (bytes) return { bytes, text: undefined, value: undefined, refusal: undefined };
  return { refusal: new Refusal('BODY_TOO_LARGE', `The body is larger than ${bytesMax} bytes.`) };
}

/** Parses a body once. Keeps its refusal until the call is counted. */
export function parseBody({ sentType, headers }: FastifyRequest, body: ReadBody): void {
  const { bytes } = body;
  if (!bytes) return;
  body.bytes = undefined;
  if (bytes.length === 0) return;
  // No JSON begins with the first byte of gzip.
  const coding = headers['content-encoding'] ?? (bytes[0] === 0x1f ? 'gzip' : undefined);
  if (coding !== undefined)
    body.refusal = new Refusal('UNSUPPORTED_MEDIA_TYPE', `The body is compressed (${coding}). Send it uncompressed.`);
  else if (!isJsonType(sentType)) body.refusal = new Refusal('UNSUPPORTED_MEDIA_TYPE');
  else if (!isUtf8(bytes)) body.refusal = new Refusal('INVALID_JSON');
  else
    try {
      body.text = bytes.toString('utf8');
      body.value = JSON.parse(body.text) as unknown;
      body.members = countMembers(body.value, NESTING_MAX);
    } catch (fault) {
      // Node's own message quotes the body, which may hold a secret; the position is enough.
      const place = / at position \d+/.exec((fault as Error).message)?.[0] ?? '';
      body.refusal = new Refusal('INVALID_JSON', `The body is not valid JSON${place}.`);
    }
}

/** Returns whether the headers announce a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');

/** Returns whether the connection has to end after the response, because a body that may be large has not arrived. */
export const isBodyLeft = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > BODY_BYTES_MAX);

/**
 * Returns the parsed body of a request whose caller is known. Throws its refusal, or BODY_NOT_ALLOWED for a GET with a
 * body.
 */
export function takeBody(request: FastifyRequest, body: ReadBody): unknown {
  if (request.method === 'GET' && hasBody(request.raw)) throw new Refusal('BODY_NOT_ALLOWED');
  parseBody(request, body);
  const { value, text, members = 0, refusal } = body;
  if (refusal) throw refusal;
  if (text === undefined) return value;
  if (Number.isNaN(members))
    throw new Refusal('INVALID_BODY', `The body is nested more than ${NESTING_MAX} levels deep.`);
  // Each member has a colon. Further ones are in strings, or of a member that stands twice.
  if (text.split(':').length - 1 > members || MAYBE_INEXACT.test(text)) checkTokens(text);
  return value;
}

/** Collects the body. Resolves to undefined if it is too large. Throws SERVICE_BUSY if other bodies need its room. */
function collect(request: FastifyRequest, stream: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const body = request.load.beginBody(request, () => {
      stream.removeAllListeners('data').resume();
      chunks.length = 0;
      reject(refuseForNow('SERVICE_BUSY'));
    });
    stream.on('error', () =>
      reject(new Refusal('MALFORMED_REQUEST', 'The connection ended before the body was complete.')),
    );
    stream.on('end', () => {
      body.arriving.delete(body);
      resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    });
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      request.load.growBody(body, chunk.length);
      if (size <= bytesMax) return;
      stream.pause();
      resolve(undefined);
    });
  });
}

/** Counts the members of all objects in a value. Returns NaN for one with more levels. */
function countMembers(value: unknown, levels: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (levels === 0) return NaN;
  const own = Object.values(value) as unknown[];
  return own.reduce<number>((sum, one) => sum + countMembers(one, levels - 1), Array.isArray(value) ? 0 : own.length);
}

/** A charset other than UTF-8 and its part US-ASCII. */
const OTHER_CHARSET = /charset=(?!"?(utf-?8|us-ascii)"?[ \t]*(;|$))/i;
/** Returns whether a type is application/json, with any parameters but another charset. */
const isJsonType = (type = '') => /^application\/json[ \t]*(;|$)/i.test(type) && !OTHER_CHARSET.test(type);

/** A number whose digits, exponent or zeros a double may not hold. Strings match as well. */
const MAYBE_INEXACT = /\d(?=[\d.]{15}|[\d.]*[eE]|\.0{6})/;
/** A string with the colon that makes it a name, a brace, or a number that may be inexact. */
const TOKEN = /"((?:[^"\\]+|\\.)*)"(\s*:)?|[{}]|-?\d(?=[\d.]{15}|[\d.]*[eE]|\.0{6})[-+.\deE]*/g;

/**
 * Throws INVALID_JSON for a member that an object has twice, and INVALID_VALUE for a number with too many digits for a
 * double, or that a double prints with an exponent.
 */
function checkTokens(json: string) {
  const objects: Set<string>[] = [];
  let name = 'body';
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    if (colon !== undefined) name = JSON.parse(`"${text}"`) as string;
    const field = name.slice(0, 64);
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (colon !== undefined) {
      const known = objects.at(-1)!;
      if (known.has(name)) throw refuseField('INVALID_JSON', field, `The body has '${field}' twice in one object.`);
      known.add(name);
    } else if (text === undefined && !isExact(token))
      throw refuseField(
        'INVALID_VALUE',
        field,
        `${field}: the number ${token.slice(0, 64)} has more than ${EXACT_DIGITS} digits or needs an exponent. Send it as text.`,
      );
  }
}

function isExact(source: string): boolean {
  const value = Number(source);
  const printed = String(value);
  const digits = source
    .replace(/[eE].*$/, '')
    .replace(/[^0-9]/g, '')
    .replace(/^0+/, '');
  const hasVanished = value === 0 && digits !== '';
  return Number.isFinite(value) && !printed.includes('e') && !hasVanished && digits.length <= EXACT_DIGITS;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Name of the operation at the path, or `dashboard` and the name of a route. */
    operation: string | undefined;
    /** The Content-Type that was sent. The header itself is replaced by one that Fastify accepts. */
    sentType: string | undefined;
    authorizations: number;
    /** Time of the call, UTC ISO 8601. */
    now: string;
    tenant: Tenant | undefined;
    /** The caller's keys, or null before they are found and for a user of the dashboard. */
    key: CallingKey | null;
    /** The session and its user, for a request of the dashboard's pages. */
    signedIn: SignedIn | undefined;
    /** The load of the service, which all requests share. */
    readonly load: ServiceLoad;
    /** The call's place in flight, from its arrival until its response is built. */
    lane: Lane | undefined;
    share: TenantShare | undefined;
    /** The call's body and the bytes of its response, which count until the response is received. */
    bodyInRoom: BodyInRoom | undefined;
    answerBytes: number;
    counted: CountedCall | undefined;
    /** The limits, for a metered call of a tenant that has a rate or a quota. */
    limits: Limits | undefined;
    refusal: Refusal | undefined;
    /** Whether the call has written records, which is what the audit log records. */
    hasChanged: boolean;
  }
}

export const URL_BYTES_MAX = 8192;
export const HEADER_BYTES_MAX = 8192;
const HEADERS_MAX = 100;

/** Value of a header that is sent only if a trusted proxy reports TLS. The service itself does not support TLS. */
const TLS_ONLY = 'max-age=31536000; includeSubDomains';

/**
 * Makes a hook that refuses a request for a host name other than localhost and the name in the public URL. The page of
 * another site can direct its own name to this machine, so that a browser reads the response for it (DNS rebinding).
 */
export function refuseOtherHosts(publicUrl: string) {
  const names = ['localhost', URL.parse(publicUrl)?.hostname];
  return async ({ headers: { host = 'localhost' } }: FastifyRequest): Promise<void> => {
    const name = URL.parse(`http://${host}`)?.hostname ?? '';
    // No site can direct an IP address to another machine. An IPv6 address is in brackets.
    if (!names.includes(name) && !isIPv4(name) && !name.startsWith('['))
      throw new Refusal('CROSS_SITE', 'The dashboard and /metrics do not answer under this host name.');
  };
}

/** The state of a node, which stages and health checks share. */
export interface ServiceState {
  /** Whether the store responds. */
  readonly isUsable: () => boolean;
  /** Whether the disk of the store is read-only, or so full that writes will soon be refused. */
  readonly isDiskUnfit: () => boolean;
  /** Whether calls can be counted. Otherwise all metered calls are refused. */
  readonly isCounting: () => boolean;
  /** Whether the service is about to stop, so that a balancer sends no more calls. */
  stopping: boolean;
  /** Aborted when calls that wait for a change have to end, because the service stops. */
  readonly ending: AbortController;
  inFlight: number;
}

/** Adds this stage. `answerUnknown` responds to a path or method that does not exist, without reading the body. */
export function addReceiving(
  app: FastifyInstance,
  state: ServiceState,
  load: ServiceLoad,
  answerUnknown: (reply: FastifyReply) => void,
): void {
  for (const name of [
    'operation',
    'sentType',
    'tenant',
    'signedIn',
    'counted',
    'limits',
    'refusal',
    'lane',
    'share',
    'bodyInRoom',
  ])
    app.decorateRequest(name, undefined);
  app.decorateRequest('load', { getter: () => load });
  app.decorateRequest('answerBytes', 0);
  app.decorateRequest('hasChanged', false);
  app.decorateRequest('key', null);
  app.decorateRequest('authorizations', 0);
  app.decorateRequest('now', '');
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    state.inFlight++;
    attach(request);
    // Node drops the bytes after an Upgrade that it does not perform.
    if (state.stopping || raw.headers.upgrade !== undefined) reply.header('connection', 'close');
    reply.headers(STATIC_HEADERS).header('x-request-id', request.id);
    if (request.protocol === 'https') reply.header('strict-transport-security', TLS_ONLY);
    request.sentType = raw.headers['content-type'];
    if (request.sentType !== undefined) raw.headers['content-type'] = JSON_TYPE;
    const { bytes, hosts, authorizations } = measureHeaders(raw.rawHeaders);
    request.authorizations = authorizations;
    if (raw.url!.length > URL_BYTES_MAX) throw new Refusal('URL_TOO_LONG');
    if (bytes > HEADER_BYTES_MAX || raw.rawHeaders.length > 2 * HEADERS_MAX) throw new Refusal('HEADERS_TOO_LARGE');
    if (raw.httpVersionMajor !== 1)
      throw new Refusal('MALFORMED_REQUEST', 'This service supports only HTTP/1.1 and HTTP/1.0.');
    if (hosts !== 1 && !(hosts === 0 && raw.httpVersion === '1.0'))
      throw new Refusal('MALFORMED_REQUEST', `A request must have one Host header, not ${hosts}.`);
    // A proxy in front may frame any other coding differently.
    if (!/^(chunked)?$/i.test(raw.headers['transfer-encoding'] ?? '')) {
      reply.header('connection', 'close');
      throw new Refusal('MALFORMED_REQUEST', 'The only supported Transfer-Encoding is chunked.');
    }
    // An operation refuses the body of a GET itself, after the call is counted.
    const isOperation = !request.is404 && raw.url!.startsWith(BASE_PATH);
    if (!isOperation && (raw.method === 'GET' || raw.method === 'HEAD') && hasBody(raw))
      throw new Refusal('BODY_NOT_ALLOWED');
    if (request.is404) return answerUnknown(reply);
    done();
  });
}

function measureHeaders(raw: readonly string[]) {
  const sums = { bytes: 0, hosts: 0, authorizations: 0 };
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!;
    sums.bytes += name.length + raw[index + 1]!.length + 4;
    if (name.length === 4 && name.toLowerCase() === 'host') sums.hosts++;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') sums.authorizations++;
  }
  return sums;
}
