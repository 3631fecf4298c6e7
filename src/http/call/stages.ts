/**
 * Begin here: the six stages of every call, in order: receive, admit, validate, decide, store, answer. Operations and
 * routes of the dashboard pass the same ones. A stage refuses by throwing a refusal, which error-answers.ts sends.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { formatTime } from '../../clock.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { Rendered } from '../../pims/rules/json.ts';
import type { Body, WriteOptions } from '../../pims/writes/writes.ts';
import type { Tenant, UsageStore } from '../../tenant/tenant-port.ts';
import { IDEMPOTENCY_KEY } from '../operations/operation-schemas.ts';
import { isWrite, type Call, type Operation } from '../operations/operation.ts';
import { BATCH_BYTES_MAX, BODY_BYTES_MAX } from '../server/receive.ts';
import { admit, type Access, type AdmissionServices, type CallTerms } from './admit.ts';
import { sendAnswer, parseIfMatch } from '../server/answer.ts';

export interface OperationServices extends AdmissionServices {
  readonly usage: UsageStore;
  /** Returns the tenant's store. Its calls are traced if `request` is given and traces are on. */
  readonly pims: (tenant: Tenant, request?: FastifyRequest) => PimsStore | Promise<PimsStore>;
  /** Resolves when the records of a tenant may have changed, or when the signal aborts. */
  readonly nextChange: (tenant: Tenant, ended: AbortSignal) => Promise<void>;
  readonly idempotencyMs: number;
}

/** A call as the stages see it: an operation, or a route of the dashboard. */
interface StagedCall extends CallTerms {
  readonly route: Omit<RouteOptions, 'handler'>;
  readonly isSignIn?: boolean;
  readonly takesIfMatch?: true | undefined;
  /** Finds the tenant of a call, and checks who calls. Returns undefined only for a call that signs someone in. */
  readonly authenticate: (request: FastifyRequest) => Promise<Tenant | undefined>;
  readonly decide: (request: FastifyRequest, reply: FastifyReply, asked: AskedWrite) => Promise<Rendered>;
}
/** The options that the headers of a write ask for, with the place to report its result. */
export type AskedWrite = Pick<WriteOptions, 'idempotency' | 'expected' | 'report'>;

/** Adds a call with the stages that every call passes. */
export function addCall(app: FastifyInstance, services: OperationServices, call: StagedCall): void {
  const { name, route, isWrite: isChange } = call;
  const headers = { type: 'object', properties: { 'idempotency-key': IDEMPOTENCY_KEY } };
  app.route({
    // 1. Receive: server/receive.ts has checked URL and headers. The body of a caller that is refused here is not read.
    ...route,
    // Now server/receive.ts has read the body.
    preValidation: async (request) => {
      request.operation = name;
      request.load.enter(request, call.isSignIn ? request.load.signIns : undefined);
      request.now = formatTime(services.clock.now());
      // 2. Admit: find the tenant by its API keys or by the session of the dashboard,
      request.tenant = await call.authenticate(request);
      // then count the call, check its limits, and take its body (admit.ts).
      await admit(request, call, services);
    },
    // 3. Validate: Fastify checks these schemas, and error-answers.ts says what is wrong.
    schema: { ...route.schema, ...(isChange && { headers }) },
    handler: async (request, reply) => {
      const idempotency = isChange ? parseIdempotencyKey(request, name, services.idempotencyMs) : undefined;
      const expected = parseIfMatch(request, name, call.takesIfMatch);
      if (!isChange) request.load.checkRoom(request);
      // 4. Decide: operations/ or dashboard/ calls pims/operations.ts. 5. Store: pims/operations.ts calls its port.
      const report: AskedWrite['report'] = ({ replayed, isUnchanged }) => {
        request.hasChanged = !replayed && !isUnchanged;
        if (replayed) reply.header('idempotent-replayed', 'true');
      };
      const body = await call.decide(request, reply, { idempotency, expected, report });
      // 6. Answer (answer.ts), once the count is on disk.
      return sendAnswer(reply, 200, body, !isChange);
    },
  });
}

/** Adds the operation at its path below the prefix of the access. */
export function addOperation(
  app: FastifyInstance,
  operation: Operation,
  services: OperationServices,
  access: Access,
): void {
  const { usage, pims, nextChange } = services;
  const { method, path, query, body, kind } = operation;
  addCall(app, services, {
    ...operation,
    isWrite: isWrite(operation),
    isMetered: access.isMetered,
    route: {
      method,
      url: access.prefix + path,
      schema: { querystring: query, ...(body && { body: body.validated }) },
      bodyLimit: kind === 'batch' ? BATCH_BYTES_MAX : BODY_BYTES_MAX,
      ...(body && { onRequest: access.authenticateEarly }),
    },
    authenticate: async (request) => access.authenticate(request, operation),
    decide: async (request, reply, asked) => {
      const tenant = request.tenant!;
      const { strict, defaultStage } = tenant;
      const by = request.key?.name ?? request.signedIn?.user.email;
      if (isWrite(operation)) await request.counted?.mayWrite();
      const openPims = () => pims(tenant, request);
      const call = {
        store: await openPims(),
        changes: { openPims, nextChange: (ended: AbortSignal) => nextChange(tenant, ended) },
        usage,
        query: request.query as Record<string, string>,
        body: request.body as Body,
        context: { now: request.now, by, strict, defaultStage, ...asked },
        reply,
      };
      const answer = await operation.run(call as Call<never>);
      if (request.hasChanged) await access.wrote?.(request, operation, answer);
      return answer;
    },
  });
}

/** Parses the key and hashes the body. The hash ignores the order of members and the credentials. */
function parseIdempotencyKey(request: FastifyRequest, operation: string, keptMs: number): WriteOptions['idempotency'] {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  const body = request.body as Body | readonly { operation: string; body: Body }[];
  const asked = Array.isArray(body) ? body.map((step) => [step.operation, sortFields(step.body)]) : sortFields(body);
  return { key, operation, bodyHash: createHash('sha256').update(JSON.stringify(asked)).digest('hex'), keptMs };
}

/** Sorts the members of each object in a value. */
function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (!(value instanceof Object)) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return members.map(([name, member]) => [name, sortFields(member)]);
}
