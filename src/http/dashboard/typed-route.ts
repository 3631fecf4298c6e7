/**
 * Adds a route of route-table.ts, with the checks of session, role, proof and schema. A request must come from the
 * dashboard's own pages and, unless the route is open, have a session whose user has the route's role or more. A route
 * sees only the tenant of the session. Source: decision 0023.
 */
import { hash } from 'node:crypto';
import '@fastify/cookie';
import type { FastifyReply, FastifyRequest, FastifyInstance, FastifySchemaValidationError } from 'fastify';
import type { SessionStore, SignedIn } from '../../account/account-port.ts';
import { loadSession } from '../../account/accounts.ts';
import type { Attempts, OwnVisit, Visit } from '../../account/attempts.ts';
import { requireProof } from '../../account/users.ts';
import { mayAct, type Role } from '../../account/roles.ts';
import { NOTHING, type ActionContext, type ActionServices, type RouteTerms } from '../../administration/action.ts';
import { isOperator } from '../../administration/operate.ts';
import { entryBy } from '../../audit/audit.ts';
import { formatTime } from '../../clock.ts';
import { Refusal, orThrow, refuseField } from '../../errors.ts';
import type { TypedSchema } from '../../json-schema.ts';
import type { TakeTurn } from '../../tenant/turns.ts';
import { addCall, type AskedWrite, type OperationServices } from '../call/stages.ts';
import { signalOf } from '../server/connections.ts';

/** With this prefix, a browser accepts the cookie only over TLS or from its own machine, and only for this host. */
const COOKIE = '__Host-storeroom_session';
const COOKIE_RULES = { path: '/', httpOnly: true, secure: true, sameSite: 'strict' } as const;

/** Refuses requests from other sites, by Fetch Metadata, or by Origin (RFC 6454) if the browser sends no metadata. */
function refuseCrossSite({ headers }: FastifyRequest): void {
  const { 'sec-fetch-site': site, origin = '', host } = headers;
  const from = URL.parse(origin);
  const isOwn = site === undefined ? from !== null && from.host === host : site === 'same-origin';
  if (!isOwn) throw new Refusal('CROSS_SITE');
}

/** Returns the session of the request's cookie. Loads it once per request. Throws CROSS_SITE or NOT_SIGNED_IN. */
export async function findSession(sessions: SessionStore, request: FastifyRequest, nowMs: number): Promise<SignedIn> {
  if (request.signedIn) return request.signedIn;
  refuseCrossSite(request);
  const token = tokenOf(request);
  const signedIn = token === undefined ? undefined : await loadSession(sessions, token, nowMs);
  if (!signedIn) throw new Refusal('NOT_SIGNED_IN');
  request.signedIn = signedIn;
  request.tenant = signedIn.tenant;
  return signedIn;
}

export function requireRole({ user }: SignedIn, needed: Role): void {
  if (!mayAct(user.role, needed))
    throw new Refusal('ROLE_NOT_ALLOWED', `This requires the role ${needed}. Your role is ${user.role}.`);
}

export const tokenOf = (request: FastifyRequest): string | undefined => request.cookies[COOKIE];
export const setSession = (reply: FastifyReply, token: string): FastifyReply =>
  reply.setCookie(COOKIE, token, COOKIE_RULES);
export const clearSession = (reply: FastifyReply): FastifyReply =>
  reply.clearCookie(COOKIE, COOKIE_RULES).header('clear-site-data', '"cache", "storage"');

export const API_PATH = '/dashboard/api';
const AGENT_CHARACTERS_MAX = 200;
const NOT_OPERATOR = 'This page is for owners of the team that STOREROOM_OPERATOR_TEAM names.';

export interface DashboardServices extends OperationServices, ActionServices {
  readonly sessions: SessionStore;
  readonly attempts: Attempts;
  readonly takeTurn: TakeTurn;
  /** The team whose owners operate the service. */
  readonly operatorTeam: string;
}

/** A request without a session, checked against the schema of its route. */
export interface OpenContext extends DashboardServices, Visit {
  readonly reply: FastifyReply;
}
export type RequestContext = OpenContext & ActionContext & OwnVisit;

/** A route. It may have the terms of a command and of its text, which it ignores. */
export interface Route extends RouteTerms {
  readonly isOpen?: boolean;
  readonly check?: (given: never) => void;
  readonly isLong?: true;
  readonly run: (context: RequestContext, given: never) => Promise<unknown>;
}
interface TypedRoute<Context, Given, Answer> extends RouteTerms {
  readonly takes?: TypedSchema<Given>;
  readonly run: (context: Context, given: Given) => Promise<Answer>;
}
/** Defines a route that needs no session. Any other route needs one, of an owner if it names no role. */
export const declareOpenRoute = <Given, Answer>(terms: TypedRoute<OpenContext, Given, Answer>) => ({
  ...terms,
  isOpen: true,
});
/** Defines a route of the signed-in user's own account. */
export const declareOwnRoute = <Given, Answer>(terms: TypedRoute<RequestContext, Given, Answer>) => ({
  role: 'viewer' as const,
  ...terms,
});

export function addRoute(
  app: FastifyInstance,
  services: DashboardServices,
  name: string,
  { role = 'owner', proof = 'recent', takes = NOTHING, check, isLong, isForOperator, isOpen = false, run }: Route,
): void {
  const { sessions, clock, operatorTeam } = services;
  const [method = '', path = ''] = name.split(' ');
  const isWrite = method === 'POST';
  addCall(app, services, {
    name: `dashboard ${name}`,
    isWrite,
    isMetered: false,
    isSignIn: isOpen,
    route: {
      method,
      url: API_PATH + path,
      schema: isWrite ? { querystring: NOTHING, body: takes } : { querystring: takes },
      schemaErrorFormatter: ([error], context) => refuseForm(error!, context),
    },
    authenticate: async (request) => {
      if (isOpen) refuseCrossSite(request);
      else {
        const signedIn = await findSession(sessions, request, clock.now());
        requireRole(signedIn, role);
        if (isWrite && proof === 'recent') requireProof(signedIn, clock.now());
      }
      return request.tenant;
    },
    decide: async (request, reply, asked) => {
      const context = contextOf(services, reply, asked);
      if (isForOperator && !(await isOperator(services, operatorTeam, context.signedIn)))
        throw new Refusal('NOT_FOUND', NOT_OPERATOR);
      const given = (isWrite ? request.body : request.query) as never;
      check?.(given);
      const decide = (ended?: AbortSignal) => run({ ...context, ended }, given);
      return JSON.stringify((await (isLong ? takeTurn(context, decide) : decide())) ?? {});
    },
  });
}

/** Returns the context of a request. Without a session, it has only the members of an OpenContext. */
function contextOf(services: DashboardServices, reply: FastifyReply, asked: AskedWrite): RequestContext {
  const { request } = reply;
  const nowMs = services.clock.now();
  const agent = (request.headers['user-agent'] ?? '').slice(0, AGENT_CHARACTERS_MAX);
  const client = { nowMs, client: request.ip, agent };
  const { signedIn } = request;
  if (!signedIn) return { ...services, client, reply } as RequestContext;
  const { user, tenant } = signedIn;
  const { idempotency: once } = asked;
  const { email } = user;
  const actor = { ...client, actor: email };
  return {
    ...services,
    client,
    reply,
    signedIn,
    tenant,
    teamId: tenant.teamId,
    role: user.role,
    actor: { ...actor, once: once && hash('sha256', `${once.operation} ${once.key}`) },
    writeOptions: { now: formatTime(nowMs), by: email, strict: tenant.strict, ...asked },
    openPims: () => services.pims(tenant),
    note: async (...action) => {
      if (request.hasChanged) await services.audit.appendAudit(tenant.teamId, entryBy(actor, ...action));
    },
    signal: signalOf(reply),
  };
}

/**
 * Runs an expensive read in the turn of the tenant. `ended` aborts when the caller disconnects or the service stops.
 */
async function takeTurn<T>(
  { takeTurn: take, tenant, signal }: RequestContext,
  decide: (ended: AbortSignal) => Promise<T>,
) {
  const ended = new AbortController();
  const found = await take(tenant, signal, (turn) => {
    turn.end = () => ended.abort();
    return decide(ended.signal);
  });
  return orThrow(found);
}

/** Refuses the body or query of a page, with a message that its form can show. */
function refuseForm({ keyword, params, instancePath, message }: FastifySchemaValidationError, place: string): Refusal {
  const named = params['missingProperty'] ?? params['additionalProperty'] ?? instancePath.split('/')[1] ?? '';
  const field = (named as string).slice(0, 64);
  if (place === 'headers') return refuseField('INVALID_IDEMPOTENCY_KEY', 'Idempotency-Key');
  if (keyword === 'required') return refuseField('MISSING_FIELD', field, `${field} is required.`);
  if (keyword === 'additionalProperties' && instancePath === '') {
    const code = place === 'body' ? 'UNKNOWN_FIELD' : 'UNKNOWN_PARAMETER';
    return refuseField(code, field, `There is no field '${field}'.`);
  }
  const allowed = params['allowedValues'] ? `: ${(params['allowedValues'] as string[]).join(', ')}` : '';
  const form = `${message}${allowed}.`;
  if (field === '') return new Refusal('INVALID_BODY', `The body ${form}`);
  return refuseField('INVALID_VALUE', field, `${field} ${form}`);
}
