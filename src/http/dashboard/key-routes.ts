/**
 * The tenant's keys in the dashboard: what there is, replacing them, ending a replaced pair before its time. A new secret leaves once, in the answer that
 * issued it. Source: specification section 5, decision 0023.
 */
import { issueKey } from '../../tenant/credentials.ts';
import { endOfOverlap, OVERLAPS_MS } from '../../tenant/keys.ts';
import { Refusal } from '../../errors.ts';
import type { OperationServices } from '../route.ts';
import { objectOf, textOf } from '../schemas.ts';
import type { DashboardServices } from './services.ts';
import { entryOf, setSession, type Route, type Visit } from './door.ts';
import type { EndKeyRequest, IssuedKeyView, KeysView, ReplaceKeysRequest } from './interface.ts';

export const keyRoutes = ({
  tenants,
  requests,
  requestLog,
  accounts,
}: OperationServices & DashboardServices): Route[] => [
  {
    method: 'GET',
    path: '/keys',
    role: 'viewer',
    run: async ({ signedIn: { tenant }, nowMs }: Visit): Promise<KeysView> => {
      await requestLog.settled();
      const [keys, uses] = await Promise.all([
        tenants.listKeys(tenant.teamId, new Date(nowMs).toISOString()),
        requests.loadKeyUses(tenant.teamId),
      ]);
      return {
        keys: keys.map(({ apiId, issuedAt, issuedBy, endsAt }) => {
          const use = uses.find((one) => one.apiId === apiId);
          return {
            apiID: apiId,
            issuedAt,
            issuedBy,
            endsAt: endsAt || null,
            lastUsedAt: use?.usedAt ?? null,
            lastUsedFrom: use?.client ?? null,
            lastUsedInUrlAt: use?.usedInUrlAt || null,
          };
        }),
      };
    },
  },
  {
    method: 'POST',
    path: '/keys/replace',
    role: 'developer',
    body: objectOf({ password: textOf(), overlap: { enum: Object.keys(OVERLAPS_MS) } }),
    run: async (visit: Visit<ReplaceKeysRequest>): Promise<IssuedKeyView> => {
      const { signedIn, body, nowMs, visitor, reply } = visit;
      const { token } = await accounts.confirm(signedIn, body.password, { nowMs, ...visitor });
      setSession(reply, token);
      const { teamId } = signedIn.tenant;
      const key = issueKey();
      const oldKeysEndAt = endOfOverlap(body.overlap, nowMs);
      await tenants.replaceKeys(
        teamId,
        key,
        oldKeysEndAt,
        entryOf(visit, 'keys replaced', key.apiId, { overlap: body.overlap }),
      );
      return { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret, oldKeysEndAt };
    },
  },
  {
    method: 'POST',
    path: '/keys/end',
    role: 'developer',
    body: objectOf({ apiID: textOf() }),
    run: async (visit: Visit<EndKeyRequest>): Promise<void> => {
      const { signedIn, body } = visit;
      const isEnded = await tenants.endKey(signedIn.tenant.teamId, body.apiID, entryOf(visit, 'key ended', body.apiID));
      if (!isEnded)
        throw new Refusal(
          'NOT_FOUND',
          'There is no replaced key with this API ID; the pair in force ends by being replaced.',
          { field: 'apiID' },
        );
    },
  },
];
