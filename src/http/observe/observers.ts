/**
 * Begin here: observers run after a response is sent. Those in this file record its call in the tenant's request log,
 * or log a line in the service's log. `logFaults` logs calls that failed through no fault of their callers.
 */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Refusal } from '../../errors.ts';
import type { RequestLog } from '../../request-log/request-log.ts';

/** Runs after each response is sent, with the milliseconds that it took. */
export type AnswerObserver = (request: FastifyRequest, reply: FastifyReply, ms: number) => void;

/** Records every counted call. The request log leaves out the credentials in the query. */
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
      // Authentication has removed the credentials from the body. A body that could not be parsed is undefined.
      body: request.method === 'GET' || request.body === undefined ? null : JSON.stringify(request.body),
    });
  };

/** Logs a line for each request, without its query, body and headers. */
export const observeRequests =
  (log: FastifyBaseLogger): AnswerObserver =>
  ({ id, ip, operation, tenant }, { statusCode }, ms) =>
    log.debug({ requestId: id, operation, teamId: tenant?.teamId, httpStatus: statusCode, ms, client: ip }, 'answered');

const LINE_MS = 1000;

/** Logs a failed call. `fault` is the refusal itself if the failure was expected. */
export type NoteFault = (request: FastifyRequest, refusal: Refusal, fault: Error) => void;

/** Logs the first fault of each kind, and a second later the number of the others. */
export function logFaults(log: FastifyBaseLogger, clock: Clock): NoteFault {
  /** The number of further faults by kind, since the line about the first. */
  const more = new Map<string, number>();
  return ({ id, method, url, operation, tenant, key }, { code, httpStatus }, fault) => {
    const isExpected = (fault as Partial<Refusal>).code === code;
    const kind = isExpected ? code : `${code} ${fault.message}`;
    const count = more.get(kind);
    more.set(kind, count === undefined ? 0 : count + 1);
    if (count !== undefined) return;
    const call = { operation, teamId: tenant?.teamId, apiId: key?.apiId };
    const about = { requestId: id, method, path: url.split('?', 1)[0], httpStatus, code, ...call };
    if (isExpected) log.warn(about, fault.message);
    else log.error({ ...about, err: fault }, code);
    clock.after(LINE_MS, () => {
      const others = more.get(kind)!;
      more.delete(kind);
      if (others > 0) log.warn({ code, httpStatus, count: others }, `${others} more calls got ${code} within a second`);
    });
  };
}
