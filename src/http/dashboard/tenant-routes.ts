/** The tenant's settings, users and audit log. The operator sets quota and rate; users only see them. */
import type { IssuedLink } from '../../account/users.ts';
import { verifyAudit } from '../../audit/chain.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { checkTenantName } from '../../tenant/tenant.ts';
import type { SettingsView, UserLinkView } from './interface.ts';
import {
  actorOf,
  entryOf,
  pick,
  readInTurn,
  type Handlers,
  type RequestContext,
  type DashboardServices,
} from './typed-route.ts';

const AUDIT_PAGE = 100;
const teamOf = ({ signedIn }: RequestContext): string => signedIn.tenant.teamId;

export const tenantRoutes = (services: DashboardServices) => ({
  ...settingsRoutes(services),
  ...userRoutes(services),
  ...auditRoutes(services),
});

const settingsRoutes = ({ tenants, requestLogDays }: DashboardServices) => {
  const view = (tenant: Tenant): SettingsView => ({
    teamID: tenant.teamId,
    ...pick(tenant, 'name', 'createdAt', 'defaultStage', 'strict', 'monthQuota', 'ownQuota', 'callsPerSecond'),
    requestLogDays,
  });
  return {
    'GET /settings': async ({ signedIn }) => view(signedIn.tenant),
    'POST /settings': async (context) => {
      const { tenant } = context.signedIn;
      const { name, defaultStage, strict, ownQuota = tenant.ownQuota } = context.body;
      checkTenantName(name);
      const limit = ownQuota === tenant.ownQuota ? {} : { ownQuota: String(ownQuota ?? 'none') };
      const detail = { name, defaultStage, strict: strict ? 'on' : 'off', ...limit };
      const changed = { ...tenant, name, defaultStage, strict, ownQuota };
      await tenants.updateTenant(tenant.teamId, changed, entryOf(context, 'tenant changed', tenant.teamId, detail));
      return view(changed);
    },
  } satisfies Partial<Handlers>;
};

const userRoutes = ({ users, publicUrl }: DashboardServices) => {
  const viewLink = ({ token, endsAt }: IssuedLink): UserLinkView => ({
    link: `${publicUrl}/dashboard/link#${token}`,
    endsAt,
  });
  return {
    'GET /users': async ({ signedIn }) => ({
      users: (await users.listUsers(signedIn.tenant.teamId)).map((user) => ({
        ...pick(user, 'email', 'role', 'createdAt'),
        hasPassword: user.passwordHash !== '',
        hasSecondFactor: user.sealedSecret !== null,
        isYou: user.email === signedIn.user.email,
      })),
    }),
    'POST /users': async (context) => {
      const { email, role } = context.body;
      return viewLink(await users.inviteUser(teamOf(context), email, role, actorOf(context)));
    },
    'POST /users/link': async (context) =>
      viewLink(await users.renewLink(teamOf(context), context.body.email, actorOf(context))),
    'POST /users/role': (context) =>
      users.changeRole(teamOf(context), context.body.email, context.body.role, actorOf(context)),
    'POST /users/remove': (context) => users.deleteUser(teamOf(context), context.body.email, actorOf(context)),
  } satisfies Partial<Handlers>;
};

const auditRoutes = ({ audit, takeTurn }: DashboardServices) =>
  ({
    'GET /audit': async ({ signedIn, query }) => {
      const before = Number(query.before ?? Number.MAX_SAFE_INTEGER);
      const records = await audit.loadAudit(signedIn.tenant.teamId, before, AUDIT_PAGE);
      const last = records.at(-1)?.number ?? 1;
      return { records, next: last > 1 ? last : null };
    },
    'GET /audit/verify': async (context) => {
      const verify = (ended: AbortSignal) => verifyAudit(audit, teamOf(context), ended);
      const { records, head, fault } = await readInTurn(takeTurn, context, verify);
      return { isWhole: fault === null, records, head, fault };
    },
  }) satisfies Partial<Handlers>;
