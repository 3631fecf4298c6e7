/**
 * Who calls: takes teamID and credentials out of header and query, else out of the body, and checks them against the
 * tenant's keys on every call. No log and no answer shows them. Source: specification section 5, decisions "Calls".
 */
import type { FastifyRequest } from 'fastify';
import { ERRORS, Refusal } from '../../errors.ts';
import {
  CALLER_PARAMETERS,
  hashSecret,
  looksLikeSecret,
  parseBasic,
  sameHash,
  type Credentials,
} from '../../tenant/credentials.ts';
import type { Caller, TenantStore } from '../../tenant/tenant-port.ts';
import { parseBody, type ReadBody } from '../server/body.ts';

type Parameters = Record<string, unknown>;
type Basic = ReturnType<typeof parseBasic>;

const NOTHING: Parameters = {};
const NO_HASH = hashSecret('');

/** The team and credentials a request names. */
export interface Claim {
  readonly teamId: string;
  readonly credentials: Credentials | null;
}

/** The claim of header and query; undefined when the body has to be looked into. Throws PARAMETER_CONFLICT. */
export function parseEarlyClaim(request: FastifyRequest): Claim | undefined {
  const query = request.query as Parameters;
  const basic = parseBasic(request.headers.authorization);
  const isHere = basic !== undefined || request.authorizations > 1 || hasPair(query);
  const teamId = first(query['teamID']);
  return teamId && isHere ? claimOf(request, teamId, basic, NOTHING) : undefined;
}

/** Takes the three parameters out of the body. Throws PARAMETER_CONFLICT or MISSING_TEAM_ID. */
export function parseClaim(request: FastifyRequest): Claim {
  const read = request.body as ReadBody | undefined;
  if (read) parseBody(request, read);
  const body = takeFromBody(read?.value);
  const teamId = first((request.query as Parameters)['teamID']) || first(body['teamID']);
  if (!teamId) throw refuseMissingTeam(request.query as Parameters, read?.value);
  if (!request.tenant) return claimOf(request, teamId, parseBasic(request.headers.authorization), body);
  // The caller is known from header or query.
  checkConflicts(request.query as Parameters, body);
  return { teamId, credentials: null };
}

/** Names a parameter that was meant, such as `teamId`. */
function refuseMissingTeam(query: Parameters, body: unknown): Refusal {
  const sent = [...Object.keys(query), ...(isFields(body) ? Object.keys(body) : [])];
  const meant = sent.find((name) => name !== 'teamID' && /^team[_-]?id$/i.test(name));
  const hint = meant === undefined ? '' : ` You sent '${meant}'; names of parameters are case-sensitive.`;
  return new Refusal('MISSING_TEAM_ID', ERRORS.MISSING_TEAM_ID.message + hint, { field: 'teamID' });
}

const isFields = (body: unknown): body is Parameters =>
  typeof body === 'object' && body !== null && !Array.isArray(body);

function claimOf(request: FastifyRequest, teamId: string, basic: Basic, body: Parameters): Claim {
  const query = request.query as Parameters;
  checkConflicts(query, body);
  if (request.authorizations > 1) return { teamId, credentials: null };
  return { teamId, credentials: basic === undefined ? parsePair(hasPair(query) ? query : body) : basic };
}

function checkConflicts(query: Parameters, body: Parameters): void {
  for (const name of CALLER_PARAMETERS) if (isConflict(query[name], body[name])) throw conflict(name);
}

/** The tenant of the claim, and its keys. Throws the same INVALID_CREDENTIALS whatever is wrong. */
export async function findCaller(tenants: TenantStore, { teamId, credentials }: Claim, now: string): Promise<Caller> {
  const plausible = credentials && looksLikeSecret(credentials.apiSecret);
  const caller = plausible ? await tenants.findCaller(teamId, credentials.apiId, now) : undefined;
  const matches = sameHash(hashSecret(credentials?.apiSecret ?? ''), caller?.secretHash ?? NO_HASH);
  if (!caller || !matches) throw new Refusal('INVALID_CREDENTIALS');
  return caller;
}

/** Folds a parameter given twice with the same value into one. Throws PARAMETER_CONFLICT for different values. */
export function foldQuery(query: Parameters): void {
  for (const name in query) {
    const value = query[name];
    if (!Array.isArray(value)) continue;
    if (isConflict(value, undefined)) throw conflict(name);
    query[name] = value[0];
  }
}

/** A pair comes whole from one place: the Basic header if there is one, else the query, else the body. */
function parsePair(place: Parameters): Credentials | null {
  const apiId = first(place['apiID']);
  const apiSecret = first(place['apiSecret']);
  return apiId && apiSecret ? { apiId, apiSecret } : null;
}

/** Whether credentials are looked for in the query. */
const hasPair = (query: Parameters): boolean => query['apiID'] !== undefined || query['apiSecret'] !== undefined;

function takeFromBody(body: unknown): Parameters {
  if (!isFields(body)) return NOTHING;
  const taken: Parameters = {};
  const fields = body;
  for (const name of CALLER_PARAMETERS) {
    if (!Object.hasOwn(fields, name)) continue;
    const value = fields[name];
    // A list or an object counts as a missing value.
    taken[name] = typeof value === 'string' || typeof value === 'number' ? String(value) : null;
    delete fields[name];
  }
  return taken;
}

/** Whether a parameter has two different values: in a query that repeats it, or in query and body. */
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
  return new Refusal('PARAMETER_CONFLICT', `'${field}' was given twice with different values; send it once.`, {
    field,
  });
}
