/**
 * Adds a route of route-table.ts, with the checks of session, role, proof and schema. A request must come from the
 * dashboard's own pages and, if the route has a role, have a session whose user has that role or more. A route
 * sees only the tenant of the session. Source: decision 0023.
 */
import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest, FastifyInstance, FastifySchemaValidationError } from 'fastify';
import type { SignedIn, UserStore } from '../../account/account-port.ts';
import type { Accounts } from '../../account/accounts.ts';
import type { ClientContext } from '../../account/attempts.ts';
import { requireProof } from '../../account/users.ts';
import { mayAct, type Role } from '../../account/roles.ts';
import { entryBy, type Actor, type AuditEntry, type AuditStore } from '../../audit/audit.ts';
import { formatTime } from '../../clock.ts';
import { Refusal, orThrow, refuseField } from '../../errors.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { WriteOptions } from '../../pims/writes/writes.ts';
import type { RequestStore } from '../../request-log/request-log-port.ts';
import type { RequestLog } from '../../request-log/request-log.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import type { TakeTurn } from '../../tenant/turns.ts';
import type { Webhooks } from '../../webhooks/administration.ts';
import { addCall, type AskedWrite, type OperationServices } from '../call/stages.ts';
import type { Readings } from '../observe/readings.ts';
import { signalOf } from '../server/connections.ts';
import type { AnswerOf, BodyOf, QueryOf, RouteName } from './interface.ts';
import { NOTHING, ROUTES, type RouteTerms } from './route-table.ts';

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
export async function findSession(accounts: Accounts, request: FastifyRequest, nowMs: number): Promise<SignedIn> {
  if (request.signedIn) return request.signedIn;
  refuseCrossSite(request);
  const token = tokenOf(request);
  const signedIn = token === undefined ? undefined : await accounts.findSession(token, nowMs);
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
/** Maximum fields of a write that the audit log names. */
const FIELDS_NAMED_MAX = 20;

export interface DashboardServices extends OperationServices {
  readonly accounts: Accounts;
  readonly users: UserStore;
  readonly audit: AuditStore;
  readonly webhooks: Webhooks;
  readonly requests: RequestStore;
  readonly requestLog: RequestLog;
  readonly requestLogDays: number;
  readonly takeTurn: TakeTurn;
  /**
   * Address at which people reach the service, without a path: `https://pims.example.com`. If it is '', addresses in
   * responses are relative, because a Host header can be forged, and the browser knows the host.
   */
  readonly publicUrl: string;
  /** The team whose owners operate the service. If it is '', the only team does, and none of several teams. */
  readonly operatorTeam: string;
  readonly readings: () => Readings;
  /** Makes a backup. Undefined if no backups are scheduled. */
  readonly backUp: (() => Promise<unknown>) | undefined;
}

/** A request without a session, checked against the schemas of its route. */
interface OpenContext<Body, Query> {
  readonly body: Body;
  readonly query: Query;
  readonly client: ClientContext;
  readonly reply: FastifyReply;
}
export interface RequestContext<Body = unknown, Query = unknown> extends OpenContext<Body, Query> {
  readonly signedIn: SignedIn;
  readonly tenant: Tenant;
  /** The user who acts, for the audit log, with the Idempotency-Key of a change that is not of records. */
  readonly actor: Actor;
  readonly writeOptions: WriteOptions;
  readonly pims: () => PimsStore | Promise<PimsStore>;
  /** Appends a write of records by this user to the audit log, unless it has changed nothing. */
  readonly note: (action: string, target: string, detail?: AuditEntry['detail']) => Promise<void>;
  /** Makes a signal that aborts when the caller disconnects. */
  readonly signal: () => AbortSignal;
  /** Runs an expensive read in the tenant's turn. `ended` aborts when the caller disconnects or the service stops. */
  readonly readInTurn: <T>(read: (ended: AbortSignal) => Promise<T>) => Promise<T>;
}
type ContextOf<Name extends RouteName> = (typeof ROUTES)[Name] extends { role: string }
  ? RequestContext<BodyOf<Name>, QueryOf<Name>>
  : OpenContext<BodyOf<Name>, QueryOf<Name>>;

export type Handlers = {
  readonly [Name in RouteName]: (context: ContextOf<Name>) => Promise<AnswerOf<Name>>;
};

export function addRoute<Name extends RouteName>(
  app: FastifyInstance,
  services: DashboardServices,
  name: Name,
  handle: Handlers[Name],
): void {
  const { accounts, clock } = services;
  const [method = '', path = ''] = name.split(' ');
  const { role, proof = 'recent', query = NOTHING, body = NOTHING }: RouteTerms = ROUTES[name];
  const isWrite = method === 'POST';
  addCall(app, services, {
    name: `dashboard ${name}`,
    isWrite,
    isMetered: false,
    isSignIn: role === undefined,
    route: {
      method,
      url: API_PATH + path,
      schema: { querystring: query, ...(isWrite && { body }) },
      schemaErrorFormatter: ([error], context) => refuseForm(error!, context),
    },
    authenticate: async (request) => {
      if (!role) refuseCrossSite(request);
      else {
        const signedIn = await findSession(accounts, request, clock.now());
        requireRole(signedIn, role);
        if (isWrite && proof === 'recent') requireProof(signedIn, clock.now());
      }
      return request.tenant;
    },
    decide: async ({ signedIn }, reply, asked) => {
      const context = signedIn ? contextOf(services, signedIn, reply, asked) : openContextOf(reply, clock.now());
      return JSON.stringify((await handle(context as ContextOf<Name>)) ?? {});
    },
  });
}

function openContextOf(reply: FastifyReply, nowMs: number): OpenContext<unknown, unknown> {
  const { body, query, headers, ip } = reply.request;
  const agent = (headers['user-agent'] ?? '').slice(0, AGENT_CHARACTERS_MAX);
  return { body, query, client: { nowMs, client: ip, agent }, reply };
}

function contextOf(
  { pims, audit, takeTurn, clock }: DashboardServices,
  signedIn: SignedIn,
  reply: FastifyReply,
  asked: AskedWrite,
): RequestContext {
  const { user, tenant } = signedIn;
  const open = openContextOf(reply, clock.now());
  const signal = signalOf(reply);
  const { idempotency: once } = asked;
  const client = { ...open.client, actor: user.email };
  const actor = { ...client, once: once && hash('sha256', `${once.operation} ${once.key}`) };
  return {
    ...open,
    signedIn,
    tenant,
    actor,
    writeOptions: { now: formatTime(actor.nowMs), by: user.email, strict: tenant.strict, ...asked },
    pims: () => pims(tenant),
    note: async (...action) => {
      if (reply.request.hasChanged) await audit.appendAudit(tenant.teamId, entryBy(client, ...action));
    },
    signal,
    readInTurn: async (read) => {
      const ended = new AbortController();
      const found = await takeTurn(tenant, signal, (turn) => {
        turn.end = () => ended.abort();
        return read(ended.signal);
      });
      return orThrow(found);
    },
  };
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

/** Picks members of an object, in this order. */
export const pick = <T, Name extends keyof T>(object: T, ...names: readonly Name[]): Pick<T, Name> =>
  Object.fromEntries(names.map((name) => [name, object[name]])) as Pick<T, Name>;

/** Names the fields of a write for the audit log, at most 20. */
export const nameFields = (values: object): string => Object.keys(values).slice(0, FIELDS_NAMED_MAX).join(' ');
