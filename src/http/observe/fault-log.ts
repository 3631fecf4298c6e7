/** The log's lines about calls that failed through no fault of their callers: one a second of each kind, with a number. */
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Refusal } from '../../errors.ts';

const LINE_MS = 1000;

export class FaultLog {
  readonly #log: FastifyBaseLogger;
  readonly #clock: Clock;
  /** How many there were since the line of their kind. */
  readonly #more = new Map<string, number>();

  constructor(log: FastifyBaseLogger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** `fault`: the refusal itself where it was expected. */
  note({ id, method, url, operation, tenant, key }: FastifyRequest, { code, httpStatus }: Refusal, fault: Error): void {
    const isExpected = (fault as Partial<Refusal>).code === code;
    const kind = isExpected ? code : `${code} ${fault.message}`;
    const more = this.#more.get(kind);
    this.#more.set(kind, more === undefined ? 0 : more + 1);
    if (more !== undefined) return;
    const of = { operation, teamId: tenant?.teamId, apiId: key?.apiId };
    const about = { requestId: id, method, path: url.split('?', 1)[0], httpStatus, code, ...of };
    if (isExpected) this.#log.warn(about, fault.message);
    else this.#log.error({ ...about, err: fault }, code);
    this.#clock.after(LINE_MS, () => {
      const count = this.#more.get(kind)!;
      this.#more.delete(kind);
      if (count > 0)
        this.#log.warn({ code, httpStatus, count }, `${count} more calls were answered ${code} in this second`);
    });
  }
}
