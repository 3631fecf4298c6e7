/**
 * Hands every counted call to the tenant's request log once it was answered, which leaves the credentials out. Decides nothing about what is kept.
 */
import type { FastifyRequest } from 'fastify';
import type { RequestLog } from '../request-log/request-log.ts';
import type { AnswerObserver } from './service.ts';

export const observeCalls =
  (log: RequestLog): AnswerObserver =>
  (request, { statusCode }, ms) => {
    if (!request.counted) return;
    const { refusal, signedIn } = request;
    const query = request.query as Readonly<Record<string, unknown>>;
    log.record({
      requestId: request.id,
      at: request.now,
      teamId: request.tenant!.teamId,
      operation: request.operation!,
      httpStatus: statusCode,
      milliseconds: ms,
      client: request.ip,
      apiId: signedIn ? null : request.apiId,
      explorerUser: signedIn ? signedIn.user.email : null,
      isUrlCredential: query['apiSecret'] !== undefined && !signedIn,
      code: refusal?.code ?? null,
      field: refusal?.field ?? null,
      message: refusal?.message ?? null,
      query,
      body: formatBody(request),
    });
  };

/** Credentials have been taken out of it. A body that could not be read is not there. */
const formatBody = ({ method, body }: FastifyRequest): string | null =>
  method === 'GET' || body === undefined ? null : JSON.stringify(body);
