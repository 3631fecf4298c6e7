/**
 * Admits a batch. It counts as its steps, each under its own operation, once the list is good and within quota and
 * rate; what is refused before counts as one call of the batch. Source: additions, section 1.
 */
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../../errors.ts';
import { checkMayWrite } from '../../tenant/key-pairs.ts';
import type { Limits } from '../../tenant/call-limits.ts';
import type { Meter } from '../../tenant/metering.ts';
import { foldQuery } from './authenticate.ts';
import { takeBody, type ReadBody } from '../server/body.ts';
import { parseIfMatch } from './etag.ts';
import type { Operation } from '../operations/operation.ts';
import { refuseBySchema } from './validation-errors.ts';

export interface BatchAdmission {
  readonly listSteps: NonNullable<Operation['listSteps']>;
  readonly meter: Meter;
  readonly limits: Limits;
}

/** Counts the call, and takes its body. Throws what it is refused for. */
export async function admitBatch(request: FastifyRequest, read: ReadBody, admission: BatchAdmission): Promise<void> {
  const { listSteps, meter } = admission;
  const { teamId } = request.tenant!;
  try {
    checkMayWrite(request.key);
    foldQuery(request.query as Record<string, unknown>);
    checkParameters(request);
    request.body = takeBody(request, read);
    await countSteps(request, listSteps(request.body), admission);
  } catch (fault) {
    if (fault instanceof Refusal) request.counted = meter.count(teamId, 'batch', request.now, request.key);
    throw fault;
  }
}

/** What Fastify and the handler look at later: by then a call is counted. */
function checkParameters(request: FastifyRequest): void {
  for (const part of ['querystring', 'headers'] as const) {
    const validate = request.getValidationFunction(part);
    if (!validate || validate(part === 'headers' ? request.headers : request.query)) continue;
    const schema = request.routeOptions.schema?.querystring as { properties: object };
    throw refuseBySchema(validate.errors!, {
      context: part,
      value: request.query,
      known: Object.keys(schema.properties),
    });
  }
  parseIfMatch(request, 'batch', false);
}

async function countSteps(
  request: FastifyRequest,
  operations: readonly string[],
  { meter, limits }: BatchAdmission,
): Promise<void> {
  const { now } = request;
  const tenant = request.tenant!;
  const { teamId } = tenant;
  const at = new Date(now);
  const calls = operations.length;
  const byOperation = Map.groupBy(operations, (operation) => operation);
  const count = (sign: 1 | -1): void => {
    for (const [operation, steps] of byOperation)
      request.counted = meter.count(teamId, operation, now, request.key, sign * steps.length);
  };
  limits.checkSteps(tenant, calls);
  limits.checkRate(tenant, at, calls);
  request.load.enterTenant(request, tenant);
  if (tenant.monthQuota === null) return count(1);
  // Two at once could each find room for itself alone.
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
