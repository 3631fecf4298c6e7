/**
 * Routes of the dashboard: typed by interface.ts, put on their path behind admission and validation. A route sees the
 * tenant of its session alone.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify';
import type { Accounts, Visitor } from '../../account/accounts.ts';
import type { SignedIn } from '../../account/port.ts';
import type { Role } from '../../account/roles.ts';
import { entryBy, type Actor, type AuditEntry } from '../../audit/entry.ts';
import { Refusal } from '../../errors.ts';
import { foldQuery } from '../authenticate.ts';
import { takeBody } from '../body.ts';
import { sendAnswer } from '../envelope.ts';
import type { Schema } from '../schemas.ts';
import { findSession, refuseCrossSite, requireRole } from './admission.ts';
import type { AnswerOf, BodyOf, QueryOf, RouteName } from './interface.ts';
import { NOTHING } from './request-schemas.ts';
import type { TypedSchema } from './typed-schema.ts';

export const API_PATH = '/dashboard/api';
const AGENT_CHARACTERS_MAX = 200;

/** A request without a session, checked against the route's schemas. */
export interface OpenContext<Body = unknown, Query = unknown> {
  readonly body: Body;
  readonly query: Query;
  readonly nowMs: number;
  readonly visitor: Visitor;
  readonly reply: FastifyReply;
}
export interface RequestContext<Body = unknown, Query = unknown> extends OpenContext<Body, Query> {
  readonly signedIn: SignedIn;
}

interface Place {
  readonly method: string;
  /** Below API_PATH. */
  readonly path: string;
  readonly query?: Schema;
  /** Of a POST. */
  readonly body?: Schema;
}
export interface OpenRoute extends Place {
  run(context: OpenContext): Promise<unknown>;
}
export interface Route extends Place {
  /** The least role. */
  readonly role: Role;
  run(context: RequestContext): Promise<unknown>;
}

interface Schemas<Name extends RouteName> {
  readonly query?: TypedSchema<QueryOf<Name>>;
  readonly body?: TypedSchema<BodyOf<Name>>;
}

const placeOf = (name: RouteName): Place => {
  const [method = '', path = ''] = name.split(' ');
  return { method, path };
};

/** Example: `route('POST /keys/end', { role: 'developer', body: KEY_END, run: async ({ body }) => … })`. */
export const route = <Name extends RouteName>(
  name: Name,
  rest: Schemas<Name> & {
    readonly role: Role;
    readonly run: (context: RequestContext<BodyOf<Name>, QueryOf<Name>>) => Promise<AnswerOf<Name>>;
  },
): Route => ({ ...placeOf(name), ...rest });

/** A route for users without a session. */
export const openRoute = <Name extends RouteName>(
  name: Name,
  rest: Schemas<Name> & {
    readonly run: (context: OpenContext<BodyOf<Name>, QueryOf<Name>>) => Promise<AnswerOf<Name>>;
  },
): OpenRoute => ({ ...placeOf(name), ...rest });

export function addRoute(app: FastifyInstance, accounts: Accounts, given: Route): void {
  const admit = async (request: FastifyRequest) => requireRole(await findSession(accounts, request), given.role);
  add(app, given, admit, (request, reply) => given.run({ ...contextOf(request, reply), signedIn: request.signedIn! }));
}

export function addOpenRoute(app: FastifyInstance, given: OpenRoute): void {
  add(
    app,
    given,
    async () => undefined,
    (request, reply) => given.run(contextOf(request, reply)),
  );
}

function contextOf(request: FastifyRequest, reply: FastifyReply): OpenContext {
  const agent = (request.headers['user-agent'] ?? '').slice(0, AGENT_CHARACTERS_MAX);
  return { body: request.body, query: request.query, nowMs: Date.now(), visitor: { client: request.ip, agent }, reply };
}

function add(
  app: FastifyInstance,
  { method, path, query = NOTHING, body = NOTHING }: Place,
  admit: (request: FastifyRequest) => Promise<void>,
  run: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  app.route({
    method,
    url: API_PATH + path,
    schemaErrorFormatter: ([error], context) => refuseForm(error!, context),
    schema: { querystring: query, ...(method === 'POST' && { body }) },
    preValidation: async (request) => {
      request.operation = `dashboard ${method} ${path}`;
      refuseCrossSite(request);
      await admit(request);
      foldQuery(request.query as Record<string, unknown>);
      request.body = takeBody(request, request.body ?? {});
    },
    handler: async (request, reply) =>
      sendAnswer(request, reply, 200, JSON.stringify((await run(request, reply)) ?? {})),
  });
}

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

/** Where the browser found the service. */
export const originOf = ({ protocol, host }: FastifyRequest): string => `${protocol}://${host}`;

/** Who does it, for the audit entries that the rules of accounts write. */
export const actorOf = ({ signedIn, nowMs, visitor }: RequestContext): Actor => ({
  nowMs,
  actor: signedIn.user.email,
  client: visitor.client,
});

/** The entry of the audit log for what this request does. */
export const entryOf = (
  context: RequestContext,
  action: string,
  target: string,
  detail?: AuditEntry['detail'],
): AuditEntry => entryBy(actorOf(context), action, target, detail);
