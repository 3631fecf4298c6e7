/**
 * Begin here: observers run after an answer is sent. They record its call in the tenant's request log, and log a line
 * about it in the service's own log.
 */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { RequestLog } from '../../request-log/request-log.ts';

/** Receives every answer after it is sent, with the time it took. */
export type AnswerObserver = (request: FastifyRequest, reply: FastifyReply, ms: number) => void;

/** Records every counted call. The request log leaves the credentials out. */
export const observeCalls =
  (log: RequestLog): AnswerObserver =>
  (request, { statusCode }, ms) => {
    if (!request.counted) return;
    const { key, refusal, signedIn } = request;
    const query = request.query as Readonly<Record<string, unknown>>;
    log.record({
      requestId: request.id,
      at: request.now,
      teamId: request.tenant!.teamId,
      operation: request.operation!,
      httpStatus: statusCode,
      milliseconds: ms,
      client: request.ip,
      apiId: key?.apiId ?? null,
      keyName: key?.name ?? null,
      explorerUser: signedIn ? signedIn.user.email : null,
      isUrlCredential: query['apiSecret'] !== undefined && !signedIn,
      code: refusal?.code ?? null,
      field: refusal?.field ?? null,
      message: refusal?.message ?? null,
      query,
      // Authentication has removed the credentials. A body that could not be parsed is undefined.
      body: request.method === 'GET' || request.body === undefined ? null : JSON.stringify(request.body),
    });
  };

/** Logs a line for each request, without its query, body and headers. */
export const observeRequests =
  (log: FastifyBaseLogger): AnswerObserver =>
  ({ id, ip, operation, tenant }, { statusCode }, ms) =>
    log.debug({ requestId: id, operation, teamId: tenant?.teamId, httpStatus: statusCode, ms, client: ip }, 'answered');
