/**
 * Admits a call of a caller that authenticate.ts has found: counts it, checks the rate, the quota and the scope of the
 * key, and reserves a place in flight. A batch counts as its steps once it is valid, and as one call of `batch` if it
 * is rejected.
 */
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../errors.ts';
import { checkMayWrite } from '../../tenant/keys.ts';
import type { Limits } from '../../tenant/call-limits.ts';
import { quotaOf } from '../../tenant/tenant.ts';
import type { Meter } from '../../tenant/metering.ts';
import { isWrite, type Operation } from '../operations/operation.ts';
import { takeBody, type ReadBody } from '../server/body.ts';
import { foldQuery } from './authenticate.ts';
import { parseIfMatch } from './etag.ts';
import { refuseBySchema } from './validation-errors.ts';

export interface AdmissionServices {
  readonly meter: Meter;
  /** The limits, which all operations share. */
  readonly limits: Limits;
}

/** Admits the call and sets its body. Throws a refusal, of the body as well. */
export async function admit(
  request: FastifyRequest,
  operation: Operation,
  isMetered: boolean,
  services: AdmissionServices,
): Promise<void> {
  const { meter, limits } = services;
  const body = (request.body ?? {}) as ReadBody;
  const tenant = request.tenant!;
  request.body = undefined;
  if (isMetered && (quotaOf(tenant) !== null || tenant.callsPerSecond !== null)) request.limits = limits;
  if (operation.listSteps) return admitBatch(request, body, operation.listSteps, isMetered, services);
  if (isMetered) request.counted = meter.count(tenant.teamId, operation.name, request.now, request.key);
  if (request.limits) await limits.check(tenant, request.counted!, new Date(request.now));
  if (isWrite(operation)) checkMayWrite(request.key);
  request.load.enterTenant(request, tenant);
  foldQuery(request.query as Record<string, unknown>);
  request.body = takeBody(request, body);
}

async function admitBatch(
  request: FastifyRequest,
  read: ReadBody,
  listSteps: NonNullable<Operation['listSteps']>,
  isMetered: boolean,
  services: AdmissionServices,
): Promise<void> {
  try {
    checkMayWrite(request.key);
    foldQuery(request.query as Record<string, unknown>);
    checkParameters(request);
    request.body = takeBody(request, read);
    const steps = listSteps(request.body);
    if (isMetered) await countSteps(request, steps, services);
    else request.load.enterTenant(request, request.tenant!);
  } catch (fault) {
    if (isMetered && fault instanceof Refusal)
      request.counted = services.meter.count(request.tenant!.teamId, 'batch', request.now, request.key);
    throw fault;
  }
}

/** Checks the parameters of a batch. For other calls Fastify and the handler do so, after the call is counted. */
function checkParameters(request: FastifyRequest) {
  for (const part of ['querystring', 'headers'] as const) {
    const validate = request.getValidationFunction(part);
    if (!validate || validate(part === 'headers' ? request.headers : request.query)) continue;
    throw refuseBySchema(validate.errors!, part, request);
  }
  parseIfMatch(request, 'batch', false);
}

async function countSteps(
  request: FastifyRequest,
  operations: readonly string[],
  { meter, limits }: AdmissionServices,
): Promise<void> {
  const { now } = request;
  const tenant = request.tenant!;
  const { teamId } = tenant;
  const at = new Date(now);
  const calls = operations.length;
  const byOperation = Map.groupBy(operations, (operation) => operation);
  const count = (sign: 1 | -1) => {
    for (const [operation, steps] of byOperation)
      request.counted = meter.count(teamId, operation, now, request.key, sign * steps.length);
  };
  limits.checkSteps(tenant, calls);
  limits.checkRate(tenant, at, calls);
  request.load.enterTenant(request, tenant);
  if (quotaOf(tenant) === null) return count(1);
  // Otherwise two simultaneous batches could both find that the quota is enough for one.
  await limits.inTurn(tenant, async () => {
    limits.checkQuota(tenant, (await meter.monthTotal(teamId, now)) + calls, at, calls);
    count(1);
    try {
      // Single calls may have been counted since.
      limits.checkQuota(tenant, await request.counted!.monthRequests(), at, calls);
    } catch (refusal) {
      count(-1);
      throw refusal;
    }
  });
}
