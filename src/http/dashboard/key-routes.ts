/**
 * The tenant's keys: list, create, replace and end pairs. Only the response that issues a secret contains it. Source:
 * decision 0023.
 */
import { issueKey } from '../../tenant/credentials.ts';
import { checkKeyName, endOfDays, endOfOverlap } from '../../tenant/keys.ts';
import { orThrow, Refusal } from '../../errors.ts';
import { entryOf, pick, type Handlers, type DashboardServices } from './typed-route.ts';

const NOT_ENDED = 'There is no valid key with this API ID.';

export const keyRoutes = ({ tenants, usage, requests, requestLog }: DashboardServices) =>
  ({
    'GET /keys': async ({ signedIn: { tenant }, client }) => {
      await requestLog.settled();
      const now = new Date(client.nowMs).toISOString();
      const [keys, uses, lastUses, { byKey }] = await Promise.all([
        tenants.listKeys(tenant.teamId, now),
        requests.loadKeyUses(tenant.teamId),
        usage.loadLastUses(tenant.teamId),
        usage.loadUsage(tenant.teamId, now.slice(0, 7)),
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
    'POST /keys': async (context) => {
      const { signedIn, body, client } = context;
      const { teamId } = signedIn.tenant;
      const { name, scope, days } = body;
      checkKeyName(name);
      const key = issueKey();
      const endsAt = endOfDays(days, client.nowMs);
      const entry = entryOf(context, 'keys created', key.apiId, { name, scope, endsAt });
      orThrow(await tenants.createKeys(teamId, { ...key, name, scope }, endsAt, entry));
      return { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret, name, scope, endsAt: endsAt || null };
    },
    'POST /keys/replace': async (context) => {
      const { signedIn, body, client } = context;
      const { teamId } = signedIn.tenant;
      const { overlap, name } = body;
      const key = issueKey();
      const oldKeysEndAt = endOfOverlap(overlap, client.nowMs);
      const entry = entryOf(context, 'keys replaced', key.apiId, { overlap });
      orThrow(await tenants.replaceKeys(teamId, key, oldKeysEndAt, entry, name));
      return { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret, oldKeysEndAt };
    },
    'POST /keys/rename': async (context) => {
      const { apiID, name } = context.body;
      checkKeyName(name);
      const entry = entryOf(context, 'keys renamed', apiID, { name });
      orThrow(await tenants.renameKeys(context.signedIn.tenant.teamId, apiID, name, entry));
    },
    'POST /keys/end': async (context) => {
      const { apiID } = context.body;
      const entry = entryOf(context, 'key ended', apiID);
      const isEnded = await tenants.endKey(context.signedIn.tenant.teamId, apiID, entry);
      if (!isEnded) throw new Refusal('NOT_FOUND', NOT_ENDED, { field: 'apiID' });
    },
  }) satisfies Partial<Handlers>;

/** Counts are exact. The request log also has calls from before calls were counted by key. */
const findLatest = (...times: readonly (string | undefined)[]): string | null =>
  times
    .filter((time) => time !== undefined)
    .toSorted()
    .at(-1) ?? null;
