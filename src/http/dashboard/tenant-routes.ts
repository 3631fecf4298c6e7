/**
 * The tenant's settings, users, audit log, keys and webhooks. The operator sets quota and rate; an owner can only set a
 * second quota, `ownQuota`. Only the response that issues a secret contains it. Source: decision 0023.
 */
import { changeRole, deleteUser, inviteUser, renewLink, viewUser, type IssuedLink } from '../../account/users.ts';
import { mayAct } from '../../account/roles.ts';
import { verifyAudit } from '../../audit/chain.ts';
import { entryBy } from '../../audit/audit.ts';
import { formatTime } from '../../clock.ts';
import { orThrow, refuseField } from '../../errors.ts';
import { checkKeyName, createPair, replacePair } from '../../tenant/keys.ts';
import type { Tenant } from '../../tenant/tenant-port.ts';
import { checkTenantName } from '../../tenant/tenant.ts';
import type { SettingsView, UserLinkView } from './interface.ts';
import { pick, type DashboardServices, type Handlers } from './typed-route.ts';

const AUDIT_PAGE = 100;
const PAGE_CHARACTERS_MAX = 1024 * 1024;

/** Ends a page before its JSON exceeds 1 MiB. It has at least one row. */
function endPage<T>(rows: readonly T[]): T[] {
  let characters = 0;
  return rows.filter((row, at) => (characters += JSON.stringify(row).length) <= PAGE_CHARACTERS_MAX || at === 0);
}

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
        ...viewUser(user),
        isYou: user.email === signedIn.user.email,
      })),
    }),
    'POST /users': async ({ tenant, body, actor }) =>
      viewLink(await inviteUser(users, tenant.teamId, body.email, body.role, actor)),
    'POST /users/link': async ({ tenant, body, actor }) =>
      viewLink(await renewLink(users, tenant.teamId, body.email, actor)),
    'POST /users/role': ({ tenant, body, actor }) => changeRole(users, tenant.teamId, body.email, body.role, actor),
    'POST /users/remove': ({ tenant, body, actor }) => deleteUser(users, tenant.teamId, body.email, actor),

    'GET /audit': async ({ tenant, query, readInTurn }) => {
      const before = Number(query.before ?? Number.MAX_SAFE_INTEGER);
      const records = endPage(await readInTurn(() => audit.loadAudit(tenant.teamId, before, AUDIT_PAGE)));
      const last = records.at(-1)?.number ?? 1;
      return { records, next: last > 1 ? last : null };
    },
    'GET /audit/verify': async ({ tenant, readInTurn }) => {
      const checked = await readInTurn((ended) => verifyAudit(audit, tenant.teamId, { ended }));
      return { isWhole: checked.fault === null, ...checked };
    },
  } satisfies Partial<Handlers>;
}

const NOT_ENDED = 'There is no valid key with this API ID.';

export const keyRoutes = ({ tenants, usage, requests, requestLog }: DashboardServices) =>
  ({
    'GET /keys': async ({ tenant: { teamId }, client, readInTurn }) => {
      await requestLog.settled();
      const now = formatTime(client.nowMs);
      const [keys, uses, lastUses, { byKey }] = await readInTurn(() =>
        Promise.all([
          tenants.listKeys(teamId, now),
          requests.loadKeyUses(teamId),
          usage.loadLastUses(teamId),
          usage.loadUsage(teamId, now.slice(0, 7)),
        ]),
      );
      const viewed = keys.map((key) => {
        const use = uses.find(({ apiId }) => apiId === key.apiId);
        return {
          apiID: key.apiId,
          ...pick(key, 'name', 'scope', 'issuedAt', 'issuedBy', 'isReplaced'),
          endsAt: key.endsAt || null,
          monthCalls: byKey.find(({ apiId }) => apiId === key.apiId)?.calls ?? 0,
          lastUsedAt: findLatest(lastUses.get(key.apiId), use?.usedAt),
          lastUsedFrom: use?.client ?? null,
          lastUsedInUrlAt: use?.usedInUrlAt || null,
        };
      });
      return { keys: viewed };
    },
    'POST /keys': ({ tenant, body, actor }) => createPair(tenants, tenant.teamId, body, actor),
    'POST /keys/replace': async ({ tenant, body: { overlap, name }, actor }) => {
      const { pair, oldKeysEndAt } = await replacePair(tenants, tenant.teamId, name, overlap, actor);
      return { ...pair, oldKeysEndAt };
    },
    'POST /keys/rename': async ({ tenant: { teamId }, body: { apiID, name }, actor }) => {
      checkKeyName(name);
      orThrow(await tenants.renameKeys(teamId, apiID, name, entryBy(actor, 'keys renamed', apiID, { name })));
    },
    'POST /keys/end': async ({ tenant: { teamId }, body: { apiID }, actor }) => {
      const isEnded = await tenants.endKey(teamId, apiID, entryBy(actor, 'key ended', apiID));
      if (!isEnded) throw refuseField('NOT_FOUND', 'apiID', NOT_ENDED);
    },
  }) satisfies Partial<Handlers>;

/** Returns the latest time. Counts are exact; the request log also has calls from before calls were counted by key. */
const findLatest = (...times: readonly (string | undefined)[]): string | null =>
  times
    .filter((time) => time !== undefined)
    .toSorted()
    .at(-1) ?? null;

const PAGE_DELIVERIES = 50;

export const webhookRoutes = ({ webhooks }: DashboardServices) =>
  ({
    'GET /webhooks': async ({ tenant, signedIn: { user } }) => ({
      webhooks: await webhooks.list(tenant, mayAct(user.role, 'developer')),
    }),
    'POST /webhooks': ({ tenant, body, actor }) => webhooks.add(tenant, body.url, body.types, actor),
    'POST /webhooks/remove': ({ tenant, body, actor }) => webhooks.remove(tenant, body.id, actor),
    'POST /webhooks/test': ({ tenant, body, actor }) => webhooks.test(tenant, body.id, actor),
    'POST /webhooks/pause': ({ tenant, body, actor }) => webhooks.pause(tenant, body.id, actor),
    'POST /webhooks/replay': ({ tenant, body, actor }) => webhooks.replay(tenant, body.id, body.after, actor),
    'POST /webhooks/rotate': ({ tenant, body, actor }) => webhooks.rotate(tenant, body.id, actor),
    'GET /webhooks/deliveries': async ({ tenant, query: { id, before } }) => {
      const last = Number(before ?? Number.MAX_SAFE_INTEGER);
      const found = await webhooks.loadDeliveries(tenant, id, last, PAGE_DELIVERIES + 1);
      const deliveries = found.slice(0, PAGE_DELIVERIES).map((one) => ({ ...one, number: String(one.number) }));
      return { deliveries, next: found.length > PAGE_DELIVERIES ? deliveries.at(-1)!.number : null };
    },
  }) satisfies Partial<Handlers>;
