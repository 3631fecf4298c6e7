/**
 * `/healthz` and `/readyz`: whether the service can serve, and whether it should be sent requests. Neither needs
 * credentials or is metered.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { JSON_TYPE } from './envelope.ts';

export interface ServiceState {
  /** Whether the store answers. */
  readonly isUsable: () => boolean;
  /** Whether the disk of the store is so full that writes will soon be refused. */
  readonly isDiskNearlyFull: () => boolean;
  /** Set before the service stops, so that a balancer sends no more. */
  stopping: boolean;
  /** Requests being worked on. */
  inFlight: number;
}

const OK = '{"status":"ok"}';
const UNAVAILABLE = '{"status":"unavailable"}';
const DISK_NEARLY_FULL = '{"status":"unavailable","reason":"disk"}';

/** Both answer 200 or 503. `/readyz` turns 503 as soon as the service is going to stop, or its disk is nearly full. */
export function addHealth(app: FastifyInstance, state: ServiceState): void {
  const add = (url: string, isGood: () => boolean, isDiskNearlyFull: () => boolean): void => {
    app.get(url, { exposeHeadRoute: true }, (_request, reply: FastifyReply) => {
      const body = !isGood() ? UNAVAILABLE : isDiskNearlyFull() ? DISK_NEARLY_FULL : OK;
      return reply
        .type(JSON_TYPE)
        .code(body === OK ? 200 : 503)
        .send(body);
    });
  };
  add('/healthz', state.isUsable, () => false);
  add('/readyz', () => !state.stopping && state.isUsable(), state.isDiskNearlyFull);
}
