/**
 * The bytes of an answer: envelope, error body and the headers every answer carries. Answers leave here, and only after their call's count is on
 * disk. Never decides what an answer says. Source: specification 2.1, decisions "Error body" and "Headers on every answer".
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Refusal } from '../errors.ts';
import type { Json } from '../pims/port.ts';
import { hideSecrets } from '../tenant/credentials.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Headers of every answer beside its content type. The policy keeps a browser from ever running one. */
export const STATIC_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** `{"status":"success","data":…,"subRecords":…}` around JSON texts as the store wrote them. */
export const renderEnvelope = (data: Json, subRecords: Json | null = null): string =>
  `{"status":"success","data":${data},"subRecords":${subRecords}}`;

/** `{"status":"error","data":null,"subRecords":null,"message":…,"code":…,"field":…?,"suggestion":…?,"requestId":…}` */
export const renderError = ({ message, code, field, suggestion }: Refusal, requestId: string): string =>
  hideSecrets(
    JSON.stringify({ status: 'error', data: null, subRecords: null, message, code, field, suggestion, requestId }),
  );

/** Sends an answer once the call is counted. Throws what the counting threw; the answer then says that the store is unavailable. */
export async function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  httpStatus: number,
  body: string,
): Promise<FastifyReply> {
  if (request.counted) reply.header('x-month-requests', await request.counted.monthRequests());
  // Fastify forgets the content type of an answer that began as an error.
  return reply.header('content-type', JSON_TYPE).code(httpStatus).send(body);
}

/** Sends a refusal with the headers its code asks for. */
export function sendRefusal(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): Promise<FastifyReply> {
  request.refusal = refusal;
  if (refusal.retryAfterSeconds !== undefined) reply.header('retry-after', refusal.retryAfterSeconds);
  if (refusal.code === 'INVALID_CREDENTIALS') reply.header('www-authenticate', 'Basic realm="storeroom"');
  return sendAnswer(request, reply, refusal.httpStatus, renderError(refusal, request.id));
}
