/**
 * Begin here: the dashboard, its pages below /dashboard/ and their JSON below /dashboard/api/. Everything except signing
 * in needs a session, also the operations of the API, which are served here too. Source: decision 0023.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import cookie from '@fastify/cookie';
import { entryBy, type AuditEntry } from '../../audit/entry.ts';
import { refuseField } from '../../errors.ts';
import type { BatchStep } from '../../pims/batch.ts';
import { textOf } from '../../pims/writes/script.ts';
import type { Body } from '../../pims/writes/writes.ts';
import { LookLimit } from '../../tenant/call-limits.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { parseClaim, type Access } from '../call/admit.ts';
import { isWrite, type Operation } from '../operations/operation.ts';
import { addOperation } from '../call/stages.ts';
import { accountRoutes } from './account-routes.ts';
import { findSession, requireRole } from './session.ts';
import type { RouteName } from './interface.ts';
import { keyRoutes } from './key-routes.ts';
import { addPages } from './pages.ts';
import { RECORD_ROUTES } from './record-routes.ts';
import { ROUTES } from './route-table.ts';
import { tenantRoutes } from './tenant-routes.ts';
import { addRoute, API_PATH, nameFields, type Handlers, type DashboardServices } from './typed-route.ts';
import { operateRoutes, usageRoutes } from './usage-routes.ts';
import { webhookRoutes } from './webhook-routes.ts';

export async function addDashboard(
  app: FastifyInstance,
  services: DashboardServices,
  operations: readonly Operation[],
): Promise<void> {
  await app.register(cookie);
  const handlers: Handlers = {
    ...accountRoutes(services),
    ...keyRoutes(services),
    ...webhookRoutes(services),
    ...usageRoutes(services, operations),
    ...RECORD_ROUTES,
    ...tenantRoutes(services),
    ...operateRoutes(services),
  };
  for (const name of Object.keys(ROUTES) as RouteName[]) addRoute(app, services, name, handlers[name]);

  const looks = new LookLimit();
  for (const operation of operations) {
    addOperation(app, operation, services, accessBySession(services, '/explorer'));
    addOperation(app, operation, services, accessBySession(services, '/records', looks));
  }
  await addPages(app);
}

/** The key of a record, a record, or the answers of the steps of a batch. */
type WrittenData = string | Readonly<Record<string, string>> | readonly { readonly data: WrittenData }[];

/**
 * Gives a user of the tenant access to the operations. Calls of the explorer are metered like any call; what the pages
 * of records read and write is not, and has a separate limit. The audit log has every write.
 */
const accessBySession = ({ accounts, audit, clock }: DashboardServices, path: string, looks?: LookLimit): Access => ({
  prefix: API_PATH + path,
  isMetered: looks === undefined,
  authenticateEarly: async (request) => void (await findSession(accounts, request, clock.now())),
  authenticate: async (request: FastifyRequest, operation: Operation): Promise<Tenant> => {
    const signedIn = await findSession(accounts, request, clock.now());
    looks?.check(signedIn.user, clock.now());
    if (isWrite(operation)) requireRole(signedIn, looks ? 'clerk' : 'developer');
    const { teamId } = signedIn.tenant;
    const query = request.query as Record<string, unknown>;
    query['teamID'] ??= teamId;
    if (parseClaim(request).teamId !== teamId)
      throw refuseField('PARAMETER_CONFLICT', 'teamID', 'teamID must be the team of the session.');
    return signedIn.tenant;
  },
  wrote: async ({ signedIn, body, ip: client }, { name }, answer) => {
    const { user, tenant } = signedIn!;
    const { data } = JSON.parse(textOf(answer)) as { data: WrittenData };
    const [target, detail] = describeWrite(body as Body | BatchStep[], data);
    const actor = { nowMs: clock.now(), actor: user.email, client };
    await audit.appendAudit(tenant.teamId, entryBy(actor, name, target, detail));
  },
});

/** Returns the record that a write changed, the first of a batch, and the names of the fields or of the steps sent. */
function describeWrite(body: Body | readonly BatchStep[], data: WrittenData): [target: string, AuditEntry['detail']] {
  if (isBatch(body)) {
    const [target] = describeWrite(body[0]!.body, (data as [{ data: WrittenData }])[0].data);
    return [target, { steps: body.map(({ operation }) => operation).join(' ') }];
  }
  const target = typeof data === 'string' ? data : (data as { ORDER_NUMBER: string }).ORDER_NUMBER;
  return [target, { fields: nameFields(body) }];
}
const isBatch = (body: Body | readonly BatchStep[]): body is readonly BatchStep[] => Array.isArray(body);
