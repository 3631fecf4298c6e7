/**
 * The bytes of an answer: envelope, error body and headers. An answer is sent after its call's count is on disk.
 * Source: specification 2.1, decisions "Error body" and "Headers on every answer".
 */
import type { FastifyReply } from 'fastify';
import type { Refusal } from '../errors.ts';
import type { Json } from '../pims/script.ts';
import { hideSecrets } from '../tenant/secrets.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Headers of every answer. The policy keeps a browser from running an answer as a page. */
export const STATIC_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** `{"status":"success","data":…,"subRecords":…}` around the JSON texts of the store. */
export const renderEnvelope = (data: Json, subRecords: Json | null = null): string =>
  `{"status":"success","data":${data},"subRecords":${subRecords}}`;

/** `{"status":"error","data":null,"subRecords":null,"message":…,"code":…,"field"?:…,"suggestion"?:…,"requestId":…}` */
export function renderError({ message, code, field, suggestion }: Refusal, requestId: string): string {
  const shown = { message: hideSecrets(message), code, field: field && hideSecrets(field), suggestion, requestId };
  return JSON.stringify({ status: 'error', data: null, subRecords: null, ...shown });
}

/** Sends an answer once its count is on disk. Throws what counting threw. */
export async function sendAnswer(reply: FastifyReply, httpStatus: number, body: string): Promise<FastifyReply> {
  const { counted } = reply.request;
  if (counted) reply.header('x-month-requests', await counted.monthRequests());
  // Fastify drops the content type of an answer that began as an error.
  return reply.header('content-type', JSON_TYPE).code(httpStatus).send(body);
}
