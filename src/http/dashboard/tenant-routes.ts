/**
 * The tenant itself in the dashboard: its settings, its users, its audit log. What the operator gives a tenant (quota and rate) is shown and not changed here.
 */
import { ROLES } from '../../account/roles.ts';
import { FIRST_STAGES } from '../../pims/lifecycle.ts';
import { verifyAudit } from '../../audit/chain.ts';
import type { Tenant } from '../../tenant/port.ts';
import { checkTenantName } from '../../tenant/tenant.ts';
import type { OperationServices } from '../route.ts';
import { objectOf, textOf } from '../schemas.ts';
import type { DashboardServices } from './services.ts';
import { actorOf, entryOf, originOf, type Route, type Visit } from './door.ts';
import type {
  AuditCheckView,
  AuditView,
  NewUserRequest,
  SettingsRequest,
  SettingsView,
  UserLinkView,
  UserRequest,
  UserRoleRequest,
  UsersView,
} from './interface.ts';

const AUDIT_PAGE = 100;
const user = { email: textOf() };
const userWithRole = objectOf({ ...user, role: { enum: ROLES } });

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
    { method: 'GET', path: '/settings', role: 'viewer', run: async ({ signedIn }: Visit) => view(signedIn.tenant) },
    {
      method: 'POST',
      path: '/settings',
      role: 'owner',
      body: objectOf({ name: textOf(), defaultStage: { enum: FIRST_STAGES }, strict: { type: 'boolean' } }),
      run: async (visit: Visit<SettingsRequest>) => {
        const { tenant } = visit.signedIn;
        const { name, defaultStage, strict } = visit.body;
        checkTenantName(name);
        const detail = { name, defaultStage, strict: strict ? 'on' : 'off' };
        const changed = { ...tenant, name, defaultStage, strict };
        await tenants.updateTenant(tenant.teamId, changed, entryOf(visit, 'tenant changed', tenant.teamId, detail));
        return view(changed);
      },
    },
  ];
};

const userRoutes = ({ users, publicUrl }: DashboardServices): Route[] => {
  const linkView = (
    { reply }: Pick<Visit, 'reply'>,
    { token, endsAt }: { token: string; endsAt: string },
  ): UserLinkView => ({
    link: `${publicUrl || originOf(reply.request)}/dashboard/link#${token}`,
    endsAt,
  });
  return [
    {
      method: 'GET',
      path: '/users',
      role: 'owner',
      run: async ({ signedIn }: Visit): Promise<UsersView> => ({
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
    },
    {
      method: 'POST',
      path: '/users',
      role: 'owner',
      body: userWithRole,
      run: async (visit: Visit<NewUserRequest>) =>
        linkView(
          visit,
          await users.inviteUser(visit.signedIn.tenant.teamId, visit.body.email, visit.body.role, actorOf(visit)),
        ),
    },
    {
      method: 'POST',
      path: '/users/link',
      role: 'owner',
      body: objectOf(user),
      run: async (visit: Visit<UserRequest>) =>
        linkView(visit, await users.renewLink(visit.signedIn.tenant.teamId, visit.body.email, actorOf(visit))),
    },
    {
      method: 'POST',
      path: '/users/role',
      role: 'owner',
      body: userWithRole,
      run: (visit: Visit<UserRoleRequest>) =>
        users.changeRole(visit.signedIn.tenant.teamId, visit.body.email, visit.body.role, actorOf(visit)),
    },
    {
      method: 'POST',
      path: '/users/remove',
      role: 'owner',
      body: objectOf(user),
      run: (visit: Visit<UserRequest>) =>
        users.deleteUser(visit.signedIn.tenant.teamId, visit.body.email, actorOf(visit)),
    },
  ];
};

const auditRoutes = ({ audit }: DashboardServices): Route[] => [
  {
    method: 'GET',
    path: '/audit',
    role: 'owner',
    query: objectOf({ before: textOf('Number of the last record seen.', { pattern: '^[1-9][0-9]{0,14}$' }) }, [
      'before',
    ]),
    run: async ({ signedIn, query }: Visit): Promise<AuditView> => {
      const records = await audit.loadAudit(
        signedIn.tenant.teamId,
        Number(query['before'] ?? Number.MAX_SAFE_INTEGER),
        AUDIT_PAGE,
      );
      const last = records.at(-1)?.number ?? 1;
      return { records, next: last > 1 ? last : null };
    },
  },
  {
    method: 'GET',
    path: '/audit/verify',
    role: 'owner',
    run: async ({ signedIn }: Visit): Promise<AuditCheckView> => {
      const { records, head, fault } = await verifyAudit(audit, signedIn.tenant.teamId);
      return { isWhole: fault === null, records, head, fault };
    },
  },
];
