/**
 * Logs calls that failed without a fault of their callers: one line a second for each kind, then the number of the
 * others.
 */
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Refusal } from '../../errors.ts';

const LINE_MS = 1000;

/** `fault` is the refusal itself if it was expected. */
export type NoteFault = (request: FastifyRequest, refusal: Refusal, fault: Error) => void;

export function logFaults(log: FastifyBaseLogger, clock: Clock): NoteFault {
  /** Faults since the line of their kind. */
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
      if (others > 0) log.warn({ code, httpStatus, count: others }, `${others} more calls got ${code} in this second`);
    });
  };
}
