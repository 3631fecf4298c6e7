/**
 * The tenant's keys: list, create, replace and end pairs. Only the response that issues a secret contains it. Source:
 * decision 0023.
 */
import { formatTime } from '../../clock.ts';
import { issueKey } from '../../tenant/credentials.ts';
import { checkKeyName, endOfDays, endOfOverlap } from '../../tenant/keys.ts';
import { entryBy } from '../../audit/entry.ts';
import { orThrow, refuseField } from '../../errors.ts';
import { pick, type Handlers, type DashboardServices } from './typed-route.ts';

const NOT_ENDED = 'There is no valid key with this API ID.';

export const keyRoutes = ({ tenants, usage, requests, requestLog }: DashboardServices) =>
  ({
    'GET /keys': async ({ tenant: { teamId }, client }) => {
      await requestLog.settled();
      const now = formatTime(client.nowMs);
      const [keys, uses, lastUses, { byKey }] = await Promise.all([
        tenants.listKeys(teamId, now),
        requests.loadKeyUses(teamId),
        usage.loadLastUses(teamId),
        usage.loadUsage(teamId, now.slice(0, 7)),
      ]);
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
    'POST /keys': async ({ tenant: { teamId }, body: { name, scope, days }, actor }) => {
      checkKeyName(name);
      const key = issueKey();
      const endsAt = endOfDays(days, actor.nowMs);
      const entry = entryBy(actor, 'keys created', key.apiId, { name, scope, endsAt });
      orThrow(await tenants.createKeys(teamId, { ...key, name, scope }, endsAt, entry));
      return { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret, name, scope, endsAt: endsAt || null };
    },
    'POST /keys/replace': async ({ tenant: { teamId }, body: { overlap, name }, actor }) => {
      const key = issueKey();
      const oldKeysEndAt = endOfOverlap(overlap, actor.nowMs);
      const entry = entryBy(actor, 'keys replaced', key.apiId, { overlap });
      orThrow(await tenants.replaceKeys(teamId, key, oldKeysEndAt, entry, name));
      return { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret, oldKeysEndAt };
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

/** Counts are exact. The request log also has calls from before calls were counted by key. */
const findLatest = (...times: readonly (string | undefined)[]): string | null =>
  times
    .filter((time) => time !== undefined)
    .toSorted()
    .at(-1) ?? null;
