/**
 * The one way an operation is put on its path: authenticated, counted, limited, validated, run, answered. Holds no rule of any operation.
 * Source: decisions "Order of the checks".
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '../errors.ts';
import type { Body, WriteContext } from '../pims/engine.ts';
import type { PimsStore } from '../pims/store.ts';
import type { Limits } from '../tenant/limits.ts';
import type { Meter } from '../tenant/metering.ts';
import type { Tenant, TenantStore } from '../tenant/store.ts';
import { findTenant, foldQuery, readClaim } from './authenticate.ts';
import type { ReadBody } from './body.ts';
import { sendAnswer } from './envelope.ts';
import { describeOperation } from './openapi.ts';
import { BASE_PATH, type Call, type Operation } from './operation.ts';

export interface OperationServices {
  readonly tenants: TenantStore;
  readonly meter: Meter;
  readonly pims: (tenant: Tenant) => PimsStore;
  readonly idempotencyMs: number;
}

/** `limits` are those of all operations together. */
export function addOperation(app: FastifyInstance, operation: Operation, { tenants, meter, pims, idempotencyMs }: OperationServices, limits: Limits): void {
  async function admit(request: FastifyRequest): Promise<void> {
    request.operation = operation.name;
    const nowMs = Date.now();
    request.now = writeTime(nowMs);
    const tenant = await findTenant(tenants, readClaim(request), request.now);
    request.tenant = tenant;
    request.counted = meter.count(tenant.teamId, operation.name, request.now);
    if (tenant.monthQuota !== null || tenant.callsPerSecond !== null) await limits.check(tenant, request.counted, new Date(nowMs));
    foldQuery(request.query as Record<string, unknown>);
    request.body = takeBody(request);
  }

  app.route({
    method: operation.method,
    url: BASE_PATH + operation.path,
    schema: describeOperation(operation),
    preValidation: admit,
    handler: async (request, reply) => {
      const tenant = request.tenant!;
      const idempotency = operation.writes ? readIdempotency(request, operation.name, idempotencyMs) : undefined;
      const call = {
        store: pims(tenant),
        query: request.query as Record<string, string>,
        body: request.body as Body,
        context: { now: request.now, strict: tenant.strict, defaultStage: tenant.defaultStage, idempotency },
        reply,
      };
      return sendAnswer(request, reply, 200, await operation.run(call as Call<never>));
    },
  });
}

let written = { ms: 0, text: '' };

/** UTC ISO 8601; calls of one millisecond share the text. */
function writeTime(ms: number): string {
  if (written.ms !== ms) written = { ms, text: new Date(ms).toISOString() };
  return written.text;
}

function takeBody(request: FastifyRequest): unknown {
  const { headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || (headers['content-length'] !== undefined && headers['content-length'] !== '0');
  if (request.method === 'GET' && hasBody) throw new Refusal('BODY_NOT_ALLOWED');
  const { value, refusal } = (request.body ?? {}) as ReadBody;
  if (refusal) throw refusal;
  return value;
}

/** The hash covers the fields as a set: the same request repeated with its keys in another order, or with replaced credentials, is the same. */
function readIdempotency(request: FastifyRequest, operation: string, keptMs: number): WriteContext['idempotency'] {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  const fields = Object.entries(request.body as Body).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { key, operation, bodyHash: createHash('sha256').update(JSON.stringify(fields)).digest('hex'), keptMs };
}
