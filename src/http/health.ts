/**
 * `/healthz` and `/readyz`: whether the service can serve, and whether it should be sent requests. Neither needs
 * credentials or is metered.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { JSON_TYPE } from './envelope.ts';

export interface ServiceState {
  /** Whether the store answers. */
  readonly isUsable: () => boolean;
  /** Set before the service stops, so that a balancer sends no more. */
  stopping: boolean;
  /** Requests being worked on. */
  inFlight: number;
}

/** Both answer 200 or 503. `/readyz` turns 503 as soon as the service is going to stop. */
export function addHealth(app: FastifyInstance, state: ServiceState): void {
  const add = (url: string, isGood: () => boolean): void => {
    app.get(url, (_request, reply: FastifyReply) => {
      const [httpStatus, status] = isGood() ? [200, 'ok'] : [503, 'unavailable'];
      return reply.type(JSON_TYPE).code(httpStatus).send(`{"status":"${status}"}`);
    });
  };
  add('/healthz', state.isUsable);
  add('/readyz', () => !state.stopping && state.isUsable());
}
