/**
 * `/healthz` and `/readyz`: whether the service can serve, and whether it should be sent requests. Neither needs
 * credentials or is metered.
 */
import type { FastifyInstance } from 'fastify';
import { JSON_TYPE } from '../server/protocol.ts';
import type { ServiceState } from '../server/receive.ts';

/**
 * Returns why the node should get no requests: the part of the store that is at fault, or '' if the node is stopping or
 * cannot use its store at all. Returns undefined if it should get requests.
 */
export function whyNotReady({ stopping, ...state }: ServiceState): 'disk' | 'counting' | '' | undefined {
  const isCounting = state.isCounting();
  if (stopping || !state.isUsable()) return '';
  if (state.isDiskUnfit()) return 'disk';
  return isCounting ? undefined : 'counting';
}

/** Adds both paths, which return 200 or 503. */
export function addHealth(app: FastifyInstance, state: ServiceState): void {
  const addProbe = (url: string, operation: string, why: () => string | undefined) =>
    app.get(url, { exposeHeadRoute: true }, (request, reply) => {
      request.operation = operation;
      const reason = why();
      const body =
        reason === undefined ? { status: 'ok' } : { status: 'unavailable', ...(reason !== '' && { reason }) };
      return reply
        .type(JSON_TYPE)
        .code(reason === undefined ? 200 : 503)
        .send(JSON.stringify(body));
    });
  addProbe('/healthz', 'getHealth', () => (state.isUsable() ? undefined : ''));
  addProbe('/readyz', 'getReadiness', () => whyNotReady(state));
}
