/**
 * The tenant's keys: listing them, replacing them, ending a replaced pair early. Only the answer that issues a secret
 * holds it. Source: specification section 5, decision 0023.
 */
import { issueKey } from '../../tenant/credentials.ts';
import { endOfOverlap } from '../../tenant/keys.ts';
import { Refusal } from '../../errors.ts';
import type { DashboardServices } from './services.ts';
import { entryOf, pick, type Handlers } from './typed-route.ts';

const NOT_ENDED = 'There is no replaced key with this API ID; the pair in force ends by being replaced.';

export const keyRoutes = ({ tenants, requests, requestLog }: DashboardServices) =>
  ({
    'GET /keys': async ({ signedIn: { tenant }, client }) => {
      await requestLog.settled();
      const [keys, uses] = await Promise.all([
        tenants.listKeys(tenant.teamId, new Date(client.nowMs).toISOString()),
        requests.loadKeyUses(tenant.teamId),
      ]);
      const viewed = keys.map((key) => {
        const use = uses.find(({ apiId }) => apiId === key.apiId);
        return {
          apiID: key.apiId,
          ...pick(key, 'issuedAt', 'issuedBy'),
          endsAt: key.endsAt || null,
          lastUsedAt: use?.usedAt ?? null,
          lastUsedFrom: use?.client ?? null,
          lastUsedInUrlAt: use?.usedInUrlAt || null,
        };
      });
      return { keys: viewed };
    },
    'POST /keys/replace': async (context) => {
      const { signedIn, body, client } = context;
      const { teamId } = signedIn.tenant;
      const { overlap } = body;
      const key = issueKey();
      const oldKeysEndAt = endOfOverlap(overlap, client.nowMs);
      const entry = entryOf(context, 'keys replaced', key.apiId, { overlap });
      await tenants.replaceKeys(teamId, key, oldKeysEndAt, entry);
      return { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret, oldKeysEndAt };
    },
    'POST /keys/end': async (context) => {
      const { apiID } = context.body;
      const entry = entryOf(context, 'key ended', apiID);
      const isEnded = await tenants.endKey(context.signedIn.tenant.teamId, apiID, entry);
      if (!isEnded) throw new Refusal('NOT_FOUND', NOT_ENDED, { field: 'apiID' });
    },
  }) satisfies Partial<Handlers>;
