/**
 * Begin here: the six stages of a call of an operation, in order: receive, admit, validate, decide, store, answer. A
 * stage refuses by throwing a refusal, which error-answers.ts sends.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import { formatTime } from '../../clock.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { Body, WriteContext } from '../../pims/writes/writes.ts';
import type { Tenant, UsageStore } from '../../tenant/tenant-port.ts';
import { IDEMPOTENCY_KEY } from '../operations/operation-schemas.ts';
import { isWrite, type Call, type Operation } from '../operations/operation.ts';
import { BATCH_BYTES_MAX, BODY_BYTES_MAX } from '../server/receive.ts';
import { admit, type Access, type AdmissionServices } from './admit.ts';
import { sendAnswer, parseIfMatch } from './answer.ts';

export interface OperationServices extends AdmissionServices {
  readonly usage: UsageStore;
  /** Returns the tenant's store. Its calls are traced if `request` is given and traces are on. */
  readonly pims: (tenant: Tenant, request?: FastifyRequest) => PimsStore | Promise<PimsStore>;
  /** Resolves when the records of a tenant may have changed, or when the signal aborts. */
  readonly nextChange: (tenant: Tenant, ended: AbortSignal) => Promise<void>;
  readonly idempotencyMs: number;
}

/** Adds the operation at its path below the prefix of the access. */
export function addOperation(
  app: FastifyInstance,
  operation: Operation,
  services: OperationServices,
  access: Access,
): void {
  const { clock, usage, pims, nextChange, idempotencyMs } = services;
  const isRead = !isWrite(operation);
  app.route({
    method: operation.method,
    url: access.prefix + operation.path,
    bodyLimit: operation.kind === 'batch' ? BATCH_BYTES_MAX : BODY_BYTES_MAX,
    // 1. Receive: server/receive.ts has checked URL and headers. The body of a caller that is refused here is not read.
    ...(operation.body && { onRequest: access.authenticateEarly }),
    // Now server/receive.ts has read the body.
    preValidation: async (request) => {
      request.operation = operation.name;
      request.load.enter(request);
      request.now = formatTime(clock.now());
      // 2. Admit: find the tenant by its API keys or by the session of the dashboard,
      request.tenant = await access.authenticate(request, operation);
      // then count the call, check its limits, and take its body (admit.ts).
      await admit(request, operation, access.isMetered, services);
    },
    // 3. Validate: Fastify checks these schemas, and error-answers.ts says what is wrong.
    schema: schemaOf(operation),
    handler: async (request, reply) => {
      const tenant = request.tenant!;
      const idempotency = isRead ? undefined : parseIdempotencyKey(request, operation.name, idempotencyMs);
      const expected = parseIfMatch(request, operation.name, operation.takesIfMatch ?? false);
      if (isRead) request.load.checkRoom(request);
      const open = () => pims(tenant, request);
      const call = {
        store: await open(),
        changes: { open, nextChange: (ended: AbortSignal) => nextChange(tenant, ended) },
        usage,
        query: request.query as Record<string, string>,
        body: request.body as Body,
        context: {
          now: request.now,
          by: request.key?.name ?? request.signedIn?.user.email,
          strict: tenant.strict,
          defaultStage: tenant.defaultStage,
          idempotency,
          expected,
        },
        reply,
      };
      // 4. Decide: operations/ calls pims/operations.ts. 5. Store: pims/operations.ts calls its port.
      const body = await operation.run(call as Call<never>);
      if (!isRead) await access.wrote?.(request, operation, body);
      // 6. Answer (answer.ts), once the count is on disk.
      return sendAnswer(reply, 200, body, isRead);
    },
  });
}

const schemaOf = ({ query, body, ...operation }: Operation): FastifySchema => ({
  querystring: query,
  ...(body && { body: body.validated }),
  ...(isWrite(operation) && { headers: { type: 'object', properties: { 'idempotency-key': IDEMPOTENCY_KEY } } }),
});

/** Parses the key and hashes the body. The hash ignores the order of the fields and the credentials. */
function parseIdempotencyKey(request: FastifyRequest, operation: string, keptMs: number): WriteContext['idempotency'] {
  const key = request.headers['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  const body = request.body as Body | readonly { operation: string; body: Body }[];
  const asked = Array.isArray(body) ? body.map((step) => [step.operation, sortFields(step.body)]) : sortFields(body);
  return { key, operation, bodyHash: createHash('sha256').update(JSON.stringify(asked)).digest('hex'), keptMs };
}

const sortFields = (body: object): [string, unknown][] => Object.entries(body).toSorted(([a], [b]) => (a < b ? -1 : 1));
