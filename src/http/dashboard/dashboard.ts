/**
 * Begin here: the dashboard, its built pages below /dashboard/ and their JSON below /dashboard/api/. All JSON except
 * signing in and links needs a session, including the operations of the API, which are served here too. Source:
 * decision 0023, https://www.w3.org/TR/CSP3/, https://www.w3.org/TR/trusted-types/.
 */
import cookie from '@fastify/cookie';
import type { FastifyInstance, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { entryBy } from '../../audit/audit.ts';
import { Refusal, refuseField } from '../../errors.ts';
import { describeWrite } from '../../pims/describe-write.ts';
import { textOf } from '../../pims/rules/json.ts';
import type { Body } from '../../pims/writes/writes.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { parseClaim, type Access } from '../call/admit.ts';
import { addOperation } from '../call/stages.ts';
import { isWrite, type Operation } from '../operations/operation.ts';
import { openFolder } from '../server/built-files.ts';
import { BASE_PATH } from '../server/protocol.ts';
import { refuseOtherHosts } from '../server/receive.ts';
import { ROUTES } from './route-table.ts';
import { addRoute, API_PATH, findSession, requireRole, type DashboardServices, type Route } from './typed-route.ts';

export async function addDashboard(
  app: FastifyInstance,
  services: Omit<DashboardServices, 'placeOf'>,
  operations: readonly Operation[],
): Promise<void> {
  app.addHook('onRequest', refuseOtherHosts(services.publicUrl));
  await app.register(cookie);
  const places = new Map(
    operations.map(({ name, method, path }) => [name as string, { method, path: BASE_PATH + path }]),
  );
  const own = { ...services, placeOf: (name: string) => places.get(name)! };
  for (const [name, route] of Object.entries<Route>(ROUTES)) addRoute(app, own, name, route);

  for (const operation of operations) {
    addOperation(app, operation, services, accessBySession(services, '/explorer', true));
    addOperation(app, operation, services, accessBySession(services, '/records', false));
  }
  await addPages(app);
}

/**
 * Gives a user of the tenant access to the operations. Calls of the explorer are metered like any call, and calls of
 * the pages of records are not. The audit log has every write.
 */
const accessBySession = (
  { sessions, audit, clock }: Pick<DashboardServices, 'sessions' | 'audit' | 'clock'>,
  path: string,
  isMetered: boolean,
): Access => ({
  prefix: API_PATH + path,
  isMetered,
  authenticateEarly: async (request) => void (await findSession(sessions, request, clock.now())),
  authenticate: async (request: FastifyRequest, operation: Operation): Promise<Tenant> => {
    const signedIn = await findSession(sessions, request, clock.now());
    if (isWrite(operation)) requireRole(signedIn, isMetered ? 'developer' : 'clerk');
    const { teamId } = signedIn.tenant;
    const query = request.query as Record<string, unknown>;
    query['teamID'] ??= teamId;
    if (parseClaim(request).teamId !== teamId)
      throw refuseField('PARAMETER_CONFLICT', 'teamID', 'teamID is not the team of your session. Leave it out.');
    return signedIn.tenant;
  },
  wrote: async ({ signedIn, body, ip: client }, { name }, answer) => {
    const { user, tenant } = signedIn!;
    const { data } = JSON.parse(textOf(answer)) as { data: string };
    const [target, detail] = describeWrite(body as Body, data);
    const actor = { nowMs: clock.now(), actor: user.email, client };
    await audit.appendAudit(tenant.teamId, entryBy(actor, name, target, detail));
  },
});

const PREFIX = '/dashboard/';
/** The caching of assets, whose names contain the hash of their content. */
const FOR_EVER = 'public, max-age=31536000, immutable';
/** With these headers, a browser loads only the page's own files and never shows the page in a frame. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';" +
    "form-action 'self';base-uri 'none';object-src 'none';frame-ancestors 'none';" +
    "require-trusted-types-for 'script';trusted-types 'none'",
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
};

async function addPages(app: FastifyInstance): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRequest', async (_request, reply) => void reply.headers(HEADERS));
    const sendFile = openFolder('dashboard/dist/', 'together');
    const addPage = (url: string, handler: RouteHandlerMethod) =>
      void scope.route({ method: ['GET', 'HEAD'], url, handler });
    addPage(`${PREFIX}assets/*`, (request, reply) =>
      sendFile(`assets/${(request.params as { '*': string })['*']}`, FOR_EVER, request, reply),
    );
    addPage(`${PREFIX}*`, (request, reply) => {
      if (/^\/dashboard\/api([/?]|$)/.test(request.url)) throw new Refusal('UNKNOWN_PATH');
      return sendFile('index.html', 'no-cache', request, reply);
    });
    for (const url of ['/', '/dashboard']) addPage(url, (_request, reply) => reply.redirect(PREFIX));
  });
}
