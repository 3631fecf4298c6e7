/**
 * The admission of a call: identifies the caller by teamID and credentials (in the header and the query, or else in the
 * body), counts the call, checks rate, quota and scope, and reserves a place in flight. No log and no refusal contains
 * the secret.
 */
import type { FastifyRequest } from 'fastify';
import { formatTime, type Clock } from '../../clock.ts';
import { ERRORS, Refusal, refuseField } from '../../errors.ts';
import type { Rendered } from '../../pims/rules/json.ts';
import { quotaOf, type Limits, type Meter } from '../../tenant/calls.ts';
import {
  CALLER_PARAMETERS,
  hashSecret,
  looksLikeSecret,
  parseBasic,
  sameHash,
  type Credentials,
  type RejectedCalls,
} from '../../tenant/credentials.ts';
import { checkScope } from '../../tenant/keys.ts';
import type { Tenant, TenantStore } from '../../tenant/tenant-port.ts';
import { OPERATION_SCOPES, type OperationName } from '../operations/names.ts';
import type { Operation } from '../operations/operation.ts';
import { BASE_PATH } from '../server/protocol.ts';
import { refuseBySchema } from '../operations/schema-refusals.ts';
import { parseBody, takeBody, type ReadBody } from '../server/receive.ts';
import { parseIfMatch } from '../server/answer.ts';

export interface AdmissionServices {
  readonly clock: Clock;
  readonly tenants: TenantStore;
  readonly rejectedCalls: RejectedCalls;
  readonly meter: Meter;
  readonly limits: Limits;
}

/** A way to reach the operations: API keys below BASE_PATH, or a session of the dashboard. */
export interface Access {
  readonly prefix: string;
  /** Finds the tenant before the body is read, unless the body may hold the credentials. */
  readonly authenticateEarly: (request: FastifyRequest) => Promise<void>;
  /** Finds the tenant of a call. Throws a refusal if the caller may not make the call. */
  readonly authenticate: (request: FastifyRequest, operation: Operation) => Tenant | Promise<Tenant>;
  readonly isMetered: boolean;
  /** Runs after a write that changed something, with its answer. */
  readonly wrote?: (request: FastifyRequest, operation: Operation, answer: Rendered) => Promise<void>;
}

export function accessByKey({ tenants, clock, rejectedCalls }: AdmissionServices): Access {
  const identify = async (request: FastifyRequest, { teamId, credentials }: Claim): Promise<Tenant> => {
    const plausible = credentials && looksLikeSecret(credentials.apiSecret);
    const now = formatTime(clock.now());
    const caller = plausible ? await tenants.findCaller(teamId, credentials.apiId, now) : undefined;
    // Neither the refusal nor its time reveals which part of plausible credentials is wrong.
    const matches = sameHash(hashSecret(credentials?.apiSecret ?? ''), caller?.secretHash ?? NO_HASH);
    if (!caller || !matches) {
      const { method, url, ip: client } = request;
      const path = url.split('?', 1)[0]!;
      rejectedCalls.noteRejected(teamId, { at: now, client, method, path, apiID: credentials?.apiId ?? '' });
      throw new Refusal('INVALID_CREDENTIALS');
    }
    request.key = caller.key;
    return caller.tenant;
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

type Parameters = Record<string, unknown>;
type Basic = ReturnType<typeof parseBasic>;

const NOTHING: Parameters = {};
const NO_HASH = hashSecret('');

interface Claim {
  readonly teamId: string;
  readonly credentials: Credentials | null;
}

/** Parses the claim in header and query. Returns undefined if the body may contain it. Throws PARAMETER_CONFLICT. */
function parseEarlyClaim(request: FastifyRequest): Claim | undefined {
  const query = request.query as Parameters;
  const basic = parseBasic(request.headers.authorization);
  const isHere = basic !== undefined || request.authorizations > 1 || hasPair(query);
  const teamId = first(query['teamID']);
  return teamId && isHere ? claimOf(request, teamId, basic, NOTHING) : undefined;
}

/** Parses the claim, and removes its parameters from the body. Throws PARAMETER_CONFLICT or MISSING_TEAM_ID. */
export function parseClaim(request: FastifyRequest): Claim {
  const read = request.body as ReadBody | undefined;
  if (read) parseBody(request, read);
  const body = takeFromBody(read?.value);
  const teamId = first((request.query as Parameters)['teamID']) || first(body['teamID']);
  if (!teamId) throw refuseMissingTeam(request.query as Parameters, read?.value);
  return claimOf(request, teamId, parseBasic(request.headers.authorization), body);
}

/** Refuses a call without teamID, with a hint at a parameter such as `teamId`. */
function refuseMissingTeam(query: Parameters, body: unknown): Refusal {
  const sent = [...Object.keys(query), ...(isFields(body) ? Object.keys(body) : [])];
  const meant = sent.find((name) => name !== 'teamID' && /^team[_-]?id$/i.test(name));
  const hint = meant === undefined ? '' : ` You sent '${meant}'; names of parameters are case-sensitive.`;
  return refuseField('MISSING_TEAM_ID', 'teamID', ERRORS.MISSING_TEAM_ID.message + hint);
}

const isFields = (body: unknown): body is Parameters =>
  typeof body === 'object' && body !== null && !Array.isArray(body);

/** Reads the pair from the Basic header if there is one, or else from the query, or else from the body. */
function claimOf(request: FastifyRequest, teamId: string, basic: Basic, body: Parameters): Claim {
  const query = request.query as Parameters;
  for (const name of CALLER_PARAMETERS) if (isConflict(query[name], body[name])) throw conflict(name);
  if (request.authorizations > 1) return { teamId, credentials: null };
  return { teamId, credentials: basic === undefined ? parsePair(hasPair(query) ? query : body) : basic };
}

/**
 * Folds a repeated parameter into one. Throws PARAMETER_CONFLICT if its values differ, and INVALID_PARAMETER for one
 * that is not UTF-8, which stands in the query undecoded.
 */
function foldQuery(request: FastifyRequest): void {
  const query = request.query as Parameters;
  for (const part of request.url.includes('%') ? request.url.split(/[?&]/) : [])
    try {
      // A % without two digits after it is not decoded.
      decodeURIComponent(part.replaceAll(/%(?![\da-f]{2})/gi, ''));
    } catch {
      const field = part.split('=', 1)[0]!.slice(0, 64);
      throw refuseField('INVALID_PARAMETER', field, `${field} is not percent-encoded UTF-8. For example, é is %C3%A9.`);
    }
  for (const name in query) {
    const value = query[name];
    if (!Array.isArray(value)) continue;
    if (isConflict(value, undefined)) throw conflict(name);
    query[name] = value[0];
  }
}

function parsePair(place: Parameters): Credentials | null {
  const apiId = first(place['apiID']);
  const apiSecret = first(place['apiSecret']);
  return apiId && apiSecret ? { apiId, apiSecret } : null;
}

const hasPair = (query: Parameters) => query['apiID'] !== undefined || query['apiSecret'] !== undefined;

function takeFromBody(body: unknown): Parameters {
  if (!isFields(body)) return NOTHING;
  const taken: Parameters = {};
  for (const name of CALLER_PARAMETERS) {
    if (!Object.hasOwn(body, name)) continue;
    const value = body[name];
    // A value of any other type counts as missing, but conflicts with a value in the query.
    taken[name] = typeof value === 'string' || typeof value === 'number' ? String(value) : null;
    delete body[name];
  }
  return taken;
}

/** Returns whether a parameter has two different values: in a query that repeats it, or in query and body. */
function isConflict(inQuery: unknown, inBody: unknown): boolean {
  if (Array.isArray(inQuery))
    return [...inQuery, inBody === undefined ? inQuery[0] : inBody].some((value) => value !== inQuery[0]);
  return inQuery !== undefined && inBody !== undefined && inQuery !== inBody;
}

const first = (value: unknown): string | undefined => {
  const one: unknown = Array.isArray(value) ? value[0] : value;
  return typeof one === 'string' ? one : undefined;
};

function conflict(name: string): Refusal {
  const field = name.slice(0, 64);
  const message = `'${field}' was given twice with different values. Send it once.`;
  return refuseField('PARAMETER_CONFLICT', field, message);
}

/** The terms on which a call is admitted. */
export interface CallTerms {
  /** The name of the call in counts and logs. */
  readonly name: string;
  readonly isWrite: boolean;
  readonly isMetered: boolean;
  readonly listSteps?: Operation['listSteps'] | undefined;
}

/**
 * Admits the call and sets its body. Throws a refusal of the call or of its body. Only a call that signs someone in has
 * no tenant.
 */
export async function admit(
  request: FastifyRequest,
  { name, isMetered, listSteps }: CallTerms,
  services: AdmissionServices,
): Promise<void> {
  const { meter, limits, clock } = services;
  const body = (request.body ?? {}) as ReadBody;
  const { tenant, signedIn } = request;
  request.body = undefined;
  if (tenant) {
    if (signedIn && !isMetered) limits.checkUser(tenant, signedIn.user.email, clock.now());
    if (isMetered && (quotaOf(tenant) !== null || tenant.callsPerSecond !== null)) request.limits = limits;
    if (listSteps) return admitBatch(request, body, listSteps, isMetered, services);
    if (isMetered) request.counted = meter.countCall(tenant.teamId, name, request.now, request.key);
    if (request.limits) await limits.checkLimits(tenant, request.counted!, new Date(request.now));
    checkScope(request.key, OPERATION_SCOPES[name as OperationName]);
    request.load.enterTenant(request, tenant);
  }
  foldQuery(request);
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
    checkScope(request.key, OPERATION_SCOPES.batch);
    foldQuery(request);
    checkParameters(request);
    request.body = takeBody(request, read);
    const steps = listSteps(request.body);
    for (const step of new Set(steps)) checkScope(request.key, OPERATION_SCOPES[step]);
    if (isMetered) await countSteps(request, steps, services);
    else request.load.enterTenant(request, request.tenant!);
  } catch (fault) {
    if (isMetered && fault instanceof Refusal)
      request.counted = services.meter.countCall(request.tenant!.teamId, 'batch', request.now, request.key);
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
  const countAll = (sign: 1 | -1) => {
    for (const [operation, steps] of byOperation)
      request.counted = meter.countCall(teamId, operation, now, request.key, sign * steps.length);
  };
  limits.checkSteps(tenant, calls);
  limits.checkRate(tenant, at, calls);
  request.load.enterTenant(request, tenant);
  if (quotaOf(tenant) === null) return countAll(1);
  // Otherwise two simultaneous batches could both be admitted when the quota is enough for one.
  await limits.runAfterEarlier(tenant, async () => {
    limits.checkQuota(tenant, (await meter.monthTotal(teamId, now)) + calls, at, calls);
    countAll(1);
    try {
      // Single calls may have been counted in the meantime.
      limits.checkQuota(tenant, await request.counted!.monthRequests(), at, calls);
    } catch (refusal) {
      countAll(-1);
      throw refusal;
    }
  });
}
