/**
 * The tenant's settings, users and audit log. The operator sets quota and rate; users only see them.
 */
import { verifyAudit } from '../../audit/chain.ts';
import type { Tenant } from '../../tenant/port.ts';
import { checkTenantName } from '../../tenant/tenant.ts';
import type { OperationServices } from '../stages.ts';
import type { SettingsView, UserLinkView } from './interface.ts';
import { AUDIT_QUERY, SETTINGS, USER, USER_WITH_ROLE } from './request-schemas.ts';
import type { DashboardServices } from './services.ts';
import { actorOf, entryOf, originOf, route, type RequestContext, type Route } from './typed-route.ts';

const AUDIT_PAGE = 100;
const teamOf = ({ signedIn }: RequestContext): string => signedIn.tenant.teamId;

export const tenantRoutes = (services: OperationServices & DashboardServices): Route[] => [
  ...settingsRoutes(services),
  ...userRoutes(services),
  ...auditRoutes(services),
];

const settingsRoutes = ({ tenants, requestLogDays }: OperationServices & DashboardServices): Route[] => {
  const view = ({
    teamId,
    name,
    createdAt,
    defaultStage,
    strict,
    monthQuota,
    callsPerSecond,
  }: Tenant): SettingsView => ({
    teamID: teamId,
    name,
    createdAt,
    defaultStage,
    strict,
    monthQuota,
    callsPerSecond,
    requestLogDays,
  });
  return [
    route('GET /settings', { role: 'viewer', run: async ({ signedIn }) => view(signedIn.tenant) }),
    route('POST /settings', {
      role: 'owner',
      body: SETTINGS,
      run: async (context) => {
        const { tenant } = context.signedIn;
        const { name, defaultStage, strict } = context.body;
        checkTenantName(name);
        const detail = { name, defaultStage, strict: strict ? 'on' : 'off' };
        const changed = { ...tenant, name, defaultStage, strict };
        await tenants.updateTenant(tenant.teamId, changed, entryOf(context, 'tenant changed', tenant.teamId, detail));
        return view(changed);
      },
    }),
  ];
};

const userRoutes = ({ users, publicUrl }: DashboardServices): Route[] => {
  const linkView = (
    { reply }: Pick<RequestContext, 'reply'>,
    { token, endsAt }: { token: string; endsAt: string },
  ): UserLinkView => ({
    link: `${publicUrl || originOf(reply.request)}/dashboard/link#${token}`,
    endsAt,
  });
  return [
    route('GET /users', {
      role: 'owner',
      run: async ({ signedIn }) => ({
        users: (await users.listUsers(signedIn.tenant.teamId)).map(
          ({ email, role, createdAt, passwordHash, sealedSecret }) => ({
            email,
            role,
            createdAt,
            hasPassword: passwordHash !== '',
            hasSecondFactor: sealedSecret !== null,
            isYou: email === signedIn.user.email,
          }),
        ),
      }),
    }),
    route('POST /users', {
      role: 'owner',
      body: USER_WITH_ROLE,
      run: async (context) => {
        const { email, role } = context.body;
        return linkView(context, await users.inviteUser(teamOf(context), email, role, actorOf(context)));
      },
    }),
    route('POST /users/link', {
      role: 'owner',
      body: USER,
      run: async (context) =>
        linkView(context, await users.renewLink(teamOf(context), context.body.email, actorOf(context))),
    }),
    route('POST /users/role', {
      role: 'owner',
      body: USER_WITH_ROLE,
      run: (context) => users.changeRole(teamOf(context), context.body.email, context.body.role, actorOf(context)),
    }),
    route('POST /users/remove', {
      role: 'owner',
      body: USER,
      run: (context) => users.deleteUser(teamOf(context), context.body.email, actorOf(context)),
    }),
  ];
};

const auditRoutes = ({ audit }: DashboardServices): Route[] => [
  route('GET /audit', {
    role: 'owner',
    query: AUDIT_QUERY,
    run: async ({ signedIn, query }) => {
      const records = await audit.loadAudit(
        signedIn.tenant.teamId,
        Number(query.before ?? Number.MAX_SAFE_INTEGER),
        AUDIT_PAGE,
      );
      const last = records.at(-1)?.number ?? 1;
      return { records, next: last > 1 ? last : null };
    },
  }),
  route('GET /audit/verify', {
    role: 'owner',
    run: async ({ signedIn }) => {
      const { records, head, fault } = await verifyAudit(audit, signedIn.tenant.teamId);
      return { isWhole: fault === null, records, head, fault };
    },
  }),
];
