/**
 * The one way an operation is put on a path: let in by a door, validated, run, answered. The door of the API is here: credentials, count, limits.
 * Holds no rule of any operation. Source: decisions "Order of the checks".
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '../errors.ts';
import type { Body, WriteContext } from '../pims/operations.ts';
import type { PimsStore } from '../pims/port.ts';
import type { Limits } from '../tenant/limits.ts';
import type { Meter } from '../tenant/metering.ts';
import type { Tenant, TenantStore } from '../tenant/port.ts';
import { findTenant, foldQuery, parseClaim } from './authenticate.ts';
import type { ReadBody } from './body.ts';
import { sendAnswer } from './envelope.ts';
import { describeOperation } from './openapi.ts';
import { BASE_PATH, type Call, type Operation } from './operations/operation.ts';

export interface OperationServices {
  readonly tenants: TenantStore;
  readonly meter: Meter;
  /** Those of all operations together. */
  readonly limits: Limits;
  readonly pims: (tenant: Tenant) => PimsStore;
  readonly idempotencyMs: number;
}

/** How callers come to the operations: below which path, and who is let in. */
export interface Door {
  readonly prefix: string;
  /** Whether the contract describes it. */
  readonly isPublic: boolean;
  /** Says whose call it is: sets `tenant`, and whatever else the request says of its caller. Throws a refusal for whoever is not let in. */
  readonly findCaller: (request: FastifyRequest, operation: Operation) => Promise<Tenant>;
  readonly isMetered: boolean;
}

/** The door of the API: credentials in every call. */
export const apiDoor = ({ tenants }: OperationServices): Door => ({
  prefix: BASE_PATH,
  isPublic: true,
  findCaller: (request) => {
    const claim = parseClaim(request);
    request.apiId = claim.credentials?.apiId ?? null;
    return findTenant(tenants, claim, request.now);
  },
  isMetered: true,
});

export function addOperation(
  app: FastifyInstance,
  operation: Operation,
  { meter, limits, pims, idempotencyMs }: OperationServices,
  door: Door,
): void {
  async function admit(request: FastifyRequest): Promise<void> {
    request.operation = operation.name;
    const nowMs = Date.now();
    request.now = formatTime(nowMs);
    const tenant = await door.findCaller(request, operation);
    request.tenant = tenant;
    const read = (request.body ?? {}) as ReadBody;
    request.body = undefined;
    if (door.isMetered) request.counted = meter.count(tenant.teamId, operation.name, request.now);
    if (request.counted && (tenant.monthQuota !== null || tenant.callsPerSecond !== null))
      await limits.check(tenant, request.counted, new Date(nowMs));
    foldQuery(request.query as Record<string, unknown>);
    request.body = takeBody(request, read);
  }

  app.route({
    method: operation.method,
    url: door.prefix + operation.path,
    schema: door.isPublic ? describeOperation(operation) : { ...describeOperation(operation), hide: true },
    preValidation: admit,
    handler: async (request, reply) => {
      const tenant = request.tenant!;
      const idempotency = operation.writes ? parseIdempotencyKey(request, operation.name, idempotencyMs) : undefined;
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
function formatTime(ms: number): string {
  if (written.ms !== ms) written = { ms, text: new Date(ms).toISOString() };
  return written.text;
}

/** The body of a request whose caller is known: throws what is wrong with it. */
export function takeBody({ headers, method }: FastifyRequest, { value, refusal }: ReadBody): unknown {
  const hasBody =
    headers['transfer-encoding'] !== undefined ||
    (headers['content-length'] !== undefined && headers['content-length'] !== '0');
  if (method === 'GET' && hasBody) throw new Refusal('BODY_NOT_ALLOWED');
  if (refusal) throw refusal;
  return value;
}

/** The hash covers the fields as a set: the same request repeated with its keys in another order, or with replaced credentials, is the same. */
function parseIdempotencyKey(request: FastifyRequest, operation: string, keptMs: number): WriteContext['idempotency'] {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  const fields = Object.entries(request.body as Body).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { key, operation, bodyHash: createHash('sha256').update(JSON.stringify(fields)).digest('hex'), keptMs };
}
