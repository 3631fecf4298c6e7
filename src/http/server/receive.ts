/**
 * The first stage of a request: the limits of its URL, its headers and the number of headers, and the headers of every
 * response. Source: decision 0007.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { SignedIn } from '../../account/account-port.ts';
import { Refusal } from '../../errors.ts';
import type { Limits } from '../../tenant/call-limits.ts';
import type { CountedCall } from '../../tenant/metering.ts';
import type { CallingKey, Tenant } from '../../tenant/tenant-port.ts';
import { hasBody } from './body.ts';
import { attach } from './connections.ts';
import { JSON_TYPE, STATIC_HEADERS } from '../call/answer.ts';
import type { ServiceState } from '../observe/health.ts';
import type { BodyInRoom, Lane, ServiceLoad, TenantShare } from './load.ts';
import { BASE_PATH } from '../operations/operation.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Name of the operation the path belongs to. */
    operation: string | undefined;
    /** Content-Type as it was sent. The header itself is replaced by one that Fastify passes on. */
    sentType: string | undefined;
    /** Number of Authorization headers. */
    authorizations: number;
    /** Time the call was authenticated, UTC ISO 8601. */
    now: string;
    tenant: Tenant | undefined;
    /** The caller's keys, or null before they are found and for a user of the dashboard. */
    key: CallingKey | null;
    /** The session's user, for a request of the dashboard's pages. */
    signedIn: SignedIn | undefined;
    /** The load, which all requests share. */
    readonly load: ServiceLoad;
    /** The call's place in flight, from its arrival until its response is built. */
    lane: Lane | undefined;
    share: TenantShare | undefined;
    /** The call's body and the bytes of its response, which count until the response is received. */
    bodyInRoom: BodyInRoom | undefined;
    answerBytes: number;
    counted: CountedCall | undefined;
    /** The headers with the limits, for a tenant that has a rate or a quota. */
    limits: Limits | undefined;
    refusal: Refusal | undefined;
  }
}

export const URL_BYTES_MAX = 8192;
export const HEADER_BYTES_MAX = 8192;
const HEADERS_MAX = 100;

/** `answerUnknown` responds to a path or method that does not exist. The body is not read. */
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
    request.sentType = raw.headers['content-type'];
    if (request.sentType !== undefined) raw.headers['content-type'] = JSON_TYPE;
    const { bytes, hosts, authorizations } = measureHeaders(raw.rawHeaders);
    request.authorizations = authorizations;
    if (raw.url!.length > URL_BYTES_MAX) throw new Refusal('URL_TOO_LONG');
    if (bytes > HEADER_BYTES_MAX || raw.rawHeaders.length > 2 * HEADERS_MAX) throw new Refusal('HEADERS_TOO_LARGE');
    if (raw.httpVersionMajor !== 1) throw new Refusal('MALFORMED_REQUEST', 'This service speaks HTTP/1.1.');
    if (hosts !== 1 && !(hosts === 0 && raw.httpVersion === '1.0'))
      throw new Refusal('MALFORMED_REQUEST', `A request must have one Host header, not ${hosts}.`);
    // A proxy in front may frame any other coding differently.
    if (!/^(chunked)?$/i.test(raw.headers['transfer-encoding'] ?? '')) {
      reply.header('connection', 'close');
      throw new Refusal('MALFORMED_REQUEST', 'The only Transfer-Encoding that is supported is chunked.');
    }
    // An operation refuses its body when the caller is known.
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
