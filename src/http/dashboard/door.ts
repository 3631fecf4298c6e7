/**
 * Who may ask what of the dashboard: requests come from its own pages, carry a session, and the role of its user is enough. The session's tenant is the
 * only one a route is given. Source: decision 0023, design "Dashboard sessions" and "CSRF".
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify';
import type { Accounts, Visitor } from '../../account/accounts.ts';
import { mayAct, type Role } from '../../account/roles.ts';
import type { SignedIn } from '../../account/port.ts';
import { Refusal } from '../../errors.ts';
import { entryBy, type Actor, type AuditEntry } from '../../audit/entry.ts';
import { foldQuery } from '../authenticate.ts';
import { sendAnswer } from '../envelope.ts';
import { takeBody } from '../route.ts';
import type { Schema } from '../schemas.ts';

export const API_PATH = '/dashboard/api';
/** The prefix makes a browser take it only over TLS, or from this machine itself, and for this host alone. */
const COOKIE = '__Host-storeroom_session';
const NOTHING: Schema = { type: 'object', additionalProperties: false };
const COOKIE_RULES = { path: '/', httpOnly: true, secure: true, sameSite: 'strict' } as const;

/** What a route is given. */
export interface Visit<Body = Readonly<Record<string, never>>, Query = Readonly<Record<string, string>>> {
  readonly signedIn: SignedIn;
  readonly body: Body;
  readonly query: Query;
  readonly nowMs: number;
  readonly visitor: Visitor;
  readonly reply: FastifyReply;
}

interface RouteOf<Given> {
  readonly method: 'GET' | 'POST';
  /** Below API_PATH. */
  readonly path: string;
  readonly query?: Schema;
  /** Of a POST. */
  readonly body?: Schema;
  /** What is answered as JSON. */
  readonly run: (given: Given) => Promise<unknown>;
}
export interface Route extends RouteOf<Visit<never, never>> {
  /** The least role. */
  readonly role: Role;
}
/** A route for whoever has no session yet. */
export type OpenRoute = RouteOf<Omit<Visit<never, never>, 'signedIn'>>;

/** Refuses what does not come from the dashboard's own pages, whatever it asks for: RFC 9110 Origin, and Fetch Metadata where the browser sends it. */
export function refuseCrossSite({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  const origin = headers.origin;
  const isOwn =
    site === undefined
      ? origin !== undefined && URL.canParse(origin) && new URL(origin).host === headers.host
      : site === 'same-origin';
  if (!isOwn) throw new Refusal('CROSS_SITE');
}

/** The session of the request's cookie. Throws NOT_SIGNED_IN. */
export async function findSession(accounts: Accounts, request: FastifyRequest): Promise<SignedIn> {
  const token = request.cookies[COOKIE];
  const signedIn = token === undefined ? undefined : await accounts.findSession(token, Date.now());
  if (!signedIn) throw new Refusal('NOT_SIGNED_IN');
  request.signedIn = signedIn;
  request.tenant = signedIn.tenant;
  return signedIn;
}

export function requireRole({ user }: SignedIn, needed: Role): void {
  if (!mayAct(user.role, needed))
    throw new Refusal('ROLE_NOT_ALLOWED', `This needs the role ${needed}; yours is ${user.role}.`);
}

export const tokenOf = (request: FastifyRequest): string | undefined => request.cookies[COOKIE];
export const setSession = (reply: FastifyReply, token: string): FastifyReply =>
  reply.setCookie(COOKIE, token, COOKIE_RULES);
export const clearSession = (reply: FastifyReply): FastifyReply =>
  reply.clearCookie(COOKIE, COOKIE_RULES).header('clear-site-data', '"cache", "storage"');

type By = Pick<Visit, 'signedIn' | 'nowMs' | 'visitor'>;

/** Where the browser found the service. */
export const originOf = ({ protocol, host }: FastifyRequest): string => `${protocol}://${host}`;

/** The entry of the audit log for what this request does. */
export const entryOf = (by: By, action: string, target: string, detail?: AuditEntry['detail']): AuditEntry =>
  entryBy(actorOf(by), action, target, detail);

export const actorOf = ({ signedIn, nowMs, visitor }: By): Actor => ({
  nowMs,
  actor: signedIn.user.email,
  client: visitor.client,
});

/** What is wrong with what a page sent, as its form can show it. */
function refuseForm(
  { keyword, params, instancePath, message }: FastifySchemaValidationError,
  context: string,
): Refusal {
  const name = (
    (params['missingProperty'] ?? params['additionalProperty'] ?? instancePath.split('/')[1] ?? '') as string
  ).slice(0, 64);
  const about = { field: name };
  if (keyword === 'required') return new Refusal('MISSING_FIELD', `${name} is missing: send it.`, about);
  if (keyword === 'additionalProperties' && instancePath === '')
    return new Refusal(
      context === 'body' ? 'UNKNOWN_FIELD' : 'UNKNOWN_PARAMETER',
      `There is no '${name}' here.`,
      about,
    );
  const allowed = params['allowedValues'] ? `: ${(params['allowedValues'] as string[]).join(', ')}` : '';
  return new Refusal(
    name === '' ? 'INVALID_BODY' : 'INVALID_VALUE',
    `${name || 'The body'} ${message}${allowed}.`,
    name === '' ? {} : about,
  );
}

/** Puts a route on its path for users with at least its role. */
export function addRoute(app: FastifyInstance, accounts: Accounts, route: Route): void {
  add(app, route, async (request) => requireRole(await findSession(accounts, request), route.role));
}

export const addOpenRoute = (app: FastifyInstance, route: OpenRoute): void => add(app, route, async () => undefined);

function add(
  app: FastifyInstance,
  { method, path, query, body, run }: RouteOf<never>,
  admit: (request: FastifyRequest) => Promise<void>,
): void {
  app.route({
    method,
    url: API_PATH + path,
    schemaErrorFormatter: ([error], context) => refuseForm(error!, context),
    schema: { hide: true, querystring: query ?? NOTHING, ...(method === 'POST' && { body: body ?? NOTHING }) },
    preValidation: async (request) => {
      request.operation = `dashboard ${method} ${path}`;
      refuseCrossSite(request);
      await admit(request);
      foldQuery(request.query as Record<string, unknown>);
      request.body = takeBody(request, request.body ?? {});
    },
    handler: async (request, reply) => {
      const { signedIn, query: asked } = request;
      const visitor = { client: request.ip, agent: (request.headers['user-agent'] ?? '').slice(0, 200) };
      const answer = await run({
        signedIn,
        body: request.body,
        query: asked,
        nowMs: Date.now(),
        visitor,
        reply,
      } as never);
      return sendAnswer(request, reply, 200, JSON.stringify(answer ?? {}));
    },
  });
}
