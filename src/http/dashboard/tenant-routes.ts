/** The tenant's settings, users and audit log. The operator sets quota and rate; users only see them. */
import { changeRole, deleteUser, inviteUser, renewLink, type IssuedLink } from '../../account/users.ts';
import { verifyAudit } from '../../audit/chain.ts';
import { entryBy } from '../../audit/entry.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { checkTenantName } from '../../tenant/tenant.ts';
import type { SettingsView, UserLinkView } from './interface.ts';
import { pick, type DashboardServices, type Handlers } from './typed-route.ts';

const AUDIT_PAGE = 100;

export function tenantRoutes({ tenants, users, audit, publicUrl, requestLogDays }: DashboardServices) {
  const view = (tenant: Tenant): SettingsView => ({
    teamID: tenant.teamId,
    ...pick(tenant, 'name', 'createdAt', 'defaultStage', 'strict', 'monthQuota', 'ownQuota', 'callsPerSecond'),
    requestLogDays,
  });
  const viewLink = ({ token, endsAt }: IssuedLink): UserLinkView => ({
    link: `${publicUrl}/dashboard/link#${token}`,
    endsAt,
  });
  return {
    'GET /settings': async ({ tenant }) => view(tenant),
    'POST /settings': async ({ tenant, body, actor }) => {
      const { name, defaultStage, strict, ownQuota = tenant.ownQuota } = body;
      checkTenantName(name);
      const limit = ownQuota === tenant.ownQuota ? {} : { ownQuota: String(ownQuota ?? 'none') };
      const detail = { name, defaultStage, strict: strict ? 'on' : 'off', ...limit };
      const changed = { ...tenant, name, defaultStage, strict, ownQuota };
      await tenants.updateTenant(tenant.teamId, changed, entryBy(actor, 'tenant changed', tenant.teamId, detail));
      return view(changed);
    },

    'GET /users': async ({ tenant, signedIn }) => ({
      users: (await users.listUsers(tenant.teamId)).map((user) => ({
        ...pick(user, 'email', 'role', 'createdAt'),
        hasPassword: user.passwordHash !== '',
        hasSecondFactor: user.sealedSecret !== null,
        isYou: user.email === signedIn.user.email,
      })),
    }),
    'POST /users': async ({ tenant, body, actor }) =>
      viewLink(await inviteUser(users, tenant.teamId, body.email, body.role, actor)),
    'POST /users/link': async ({ tenant, body, actor }) =>
      viewLink(await renewLink(users, tenant.teamId, body.email, actor)),
    'POST /users/role': ({ tenant, body, actor }) => changeRole(users, tenant.teamId, body.email, body.role, actor),
    'POST /users/remove': ({ tenant, body, actor }) => deleteUser(users, tenant.teamId, body.email, actor),

    'GET /audit': async ({ tenant, query }) => {
      const before = Number(query.before ?? Number.MAX_SAFE_INTEGER);
      const records = await audit.loadAudit(tenant.teamId, before, AUDIT_PAGE);
      const last = records.at(-1)?.number ?? 1;
      return { records, next: last > 1 ? last : null };
    },
    'GET /audit/verify': async ({ tenant, readInTurn }) => {
      const { records, head, fault } = await readInTurn((ended) => verifyAudit(audit, tenant.teamId, ended));
      return { isWhole: fault === null, records, head, fault };
    },
  } satisfies Partial<Handlers>;
}
