/**
 * The six stages of a call of an operation, in order: receive, admit, validate, decide, store, answer. A stage refuses
 * by throwing; error-answers.ts then answers. Source: specification section 4, decisions "Order of the checks".
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import type { Clock } from '../../clock.ts';
import type { Body, WriteContext } from '../../pims/writes/writes.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import { checkMayWrite } from '../../tenant/key-pairs.ts';
import type { Limits } from '../../tenant/call-limits.ts';
import type { Meter } from '../../tenant/metering.ts';
import type { Tenant, TenantStore, UsageStore } from '../../tenant/tenant-port.ts';
import { findCaller, foldQuery, parseClaim, parseEarlyClaim, type Claim } from './authenticate.ts';
import { admitBatch } from './admit.ts';
import { BATCH_BYTES_MAX, BODY_BYTES_MAX, takeBody, type ReadBody } from '../server/body.ts';
import { sendAnswer } from './answer.ts';
import { parseIfMatch } from './etag.ts';
import { IDEMPOTENCY_KEY } from '../operations/operation-schemas.ts';
import { BASE_PATH, isWrite, type Call, type Operation } from '../operations/operation.ts';

export interface OperationServices {
  readonly clock: Clock;
  readonly tenants: TenantStore;
  readonly meter: Meter;
  readonly usage: UsageStore;
  /** Shared by all operations. */
  readonly limits: Limits;
  /** The tenant's store, for a request where there is one. */
  readonly pims: (tenant: Tenant, request?: FastifyRequest) => PimsStore | Promise<PimsStore>;
  readonly idempotencyMs: number;
}

/** How callers reach the operations: by API keys below BASE_PATH, or by a session of the dashboard. */
export interface Admission {
  readonly prefix: string;
  /** Finds the tenant before the body is read, unless the body has to be looked into. */
  readonly authenticateEarly: (request: FastifyRequest) => Promise<void>;
  /** Finds the tenant of a call. Throws a refusal when the caller may not make it. */
  readonly authenticate: (request: FastifyRequest, operation: Operation) => Tenant | Promise<Tenant>;
  readonly isMetered: boolean;
}

export function addOperation(
  app: FastifyInstance,
  operation: Operation,
  { clock, meter, usage, limits, pims, idempotencyMs }: OperationServices,
  admission: Admission,
): void {
  const isRead = !isWrite(operation);
  const { listSteps } = operation;
  app.route({
    method: operation.method,
    url: admission.prefix + operation.path,
    bodyLimit: operation.kind === 'batch' ? BATCH_BYTES_MAX : BODY_BYTES_MAX,
    // 1. Receive: receive.ts has checked URL and headers. The body of a caller that is refused here stays unread,
    ...(operation.body && { onRequest: admission.authenticateEarly }),
    // else body.ts has read it.
    preValidation: async (request) => {
      request.operation = operation.name;
      request.load.enter(request);
      const nowMs = clock.now();
      request.now = formatTime(nowMs);
      // 2. Admit: authenticate (authenticate.ts, or the session of the dashboard),
      const tenant = await admission.authenticate(request, operation);
      request.tenant = tenant;
      const body = (request.body ?? {}) as ReadBody;
      request.body = undefined;
      const isLimited = tenant.monthQuota !== null || tenant.callsPerSecond !== null;
      if (admission.isMetered && isLimited) request.limits = limits;
      // count, of a batch each step, and check quota and rate (batch-admission.ts),
      if (listSteps) return admitBatch(request, body, { listSteps, meter, limits });
      // count (tenant/metering.ts),
      if (admission.isMetered) request.counted = meter.count(tenant.teamId, operation.name, request.now, request.key);
      // check quota and rate (tenant/call-limits.ts), and what the keys may do (tenant/key-pairs.ts).
      if (request.limits) await limits.check(tenant, request.counted!, new Date(nowMs));
      if (!isRead) checkMayWrite(request.key);
      request.load.enterTenant(request, tenant);
      // 3. Validate: fold repeated parameters, take the body or its refusal;
      foldQuery(request.query as Record<string, unknown>);
      request.body = takeBody(request, body);
    },
    // then Fastify checks these schemas, and validation-errors.ts says what is wrong.
    schema: schemaOf(operation),
    handler: async (request, reply) => {
      const tenant = request.tenant!;
      const idempotency = isRead ? undefined : parseIdempotencyKey(request, operation.name, idempotencyMs);
      const expected = parseIfMatch(request, operation.name, operation.takesIfMatch ?? false);
      if (isRead) request.load.checkRoom(request);
      const call = {
        store: await pims(tenant, request),
        usage,
        query: request.query as Record<string, string>,
        body: request.body as Body,
        context: { now: request.now, strict: tenant.strict, defaultStage: tenant.defaultStage, idempotency, expected },
        reply,
      };
      // 4. Decide: operations/ calls pims/operations.ts, which 5. stores through the port of pims.
      const body = await operation.run(call as Call<never>);
      // 6. Answer: envelope.ts, once the count is on disk.
      return sendAnswer(reply, 200, body, isRead);
    },
  });
}

/** Admission by the API keys in each call. */
export function admitByKey({ tenants, clock }: Pick<OperationServices, 'tenants' | 'clock'>): Admission {
  const identify = async (request: FastifyRequest, claim: Claim): Promise<Tenant> => {
    const { tenant, key } = await findCaller(tenants, claim, formatTime(clock.now()));
    request.key = key;
    return tenant;
  };
  return {
    prefix: BASE_PATH,
    authenticateEarly: async (request) => {
      const claim = parseEarlyClaim(request);
      if (claim) request.tenant = await identify(request, claim);
    },
    authenticate: (request) => {
      const claim = parseClaim(request);
      return request.tenant ?? identify(request, claim);
    },
    isMetered: true,
  };
}

const schemaOf = ({ query, body, ...operation }: Operation): FastifySchema => ({
  querystring: query,
  ...(body && { body: body.validated }),
  ...(isWrite(operation) && { headers: { type: 'object', properties: { 'idempotency-key': IDEMPOTENCY_KEY } } }),
});

let formatted = { ms: 0, text: '' };

/** UTC ISO 8601. Calls of the same millisecond share the text. */
function formatTime(ms: number): string {
  if (formatted.ms !== ms) formatted = { ms, text: new Date(ms).toISOString() };
  return formatted.text;
}

/** The hash covers fields as a set: the order of keys and the credentials do not matter. */
function parseIdempotencyKey(request: FastifyRequest, operation: string, keptMs: number): WriteContext['idempotency'] {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  const body = request.body as Body | readonly { operation: string; body: Body }[];
  const asked = Array.isArray(body) ? body.map((step) => [step.operation, sortFields(step.body)]) : sortFields(body);
  return { key, operation, bodyHash: createHash('sha256').update(JSON.stringify(asked)).digest('hex'), keptMs };
}

const sortFields = (body: object): [string, unknown][] => Object.entries(body).toSorted(([a], [b]) => (a < b ? -1 : 1));
