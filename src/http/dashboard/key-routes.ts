/**
 * The tenant's keys: listing them, replacing them, ending a replaced pair early. Only the answer that issues a secret
 * holds it. Source: specification section 5, decision 0023.
 */
import { issueKey } from '../../tenant/credentials.ts';
import { endOfOverlap } from '../../tenant/keys.ts';
import { Refusal } from '../../errors.ts';
import type { OperationServices } from '../stages.ts';
import { setSession } from './admission.ts';
import { KEY_END, KEY_REPLACEMENT } from './request-schemas.ts';
import type { DashboardServices } from './services.ts';
import { entryOf, route, type Route } from './typed-route.ts';

export const keyRoutes = ({
  tenants,
  requests,
  requestLog,
  accounts,
}: OperationServices & DashboardServices): Route[] => [
  route('GET /keys', {
    role: 'viewer',
    run: async ({ signedIn: { tenant }, nowMs }) => {
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
  }),
  route('POST /keys/replace', {
    role: 'developer',
    body: KEY_REPLACEMENT,
    run: async (context) => {
      const { signedIn, body, nowMs, visitor, reply } = context;
      const { token } = await accounts.confirm(signedIn, body.password, { nowMs, ...visitor });
      setSession(reply, token);
      const { teamId } = signedIn.tenant;
      const key = issueKey();
      const oldKeysEndAt = endOfOverlap(body.overlap, nowMs);
      await tenants.replaceKeys(
        teamId,
        key,
        oldKeysEndAt,
        entryOf(context, 'keys replaced', key.apiId, { overlap: body.overlap }),
      );
      return { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret, oldKeysEndAt };
    },
  }),
  route('POST /keys/end', {
    role: 'developer',
    body: KEY_END,
    run: async (context) => {
      const { signedIn, body } = context;
      const isEnded = await tenants.endKey(
        signedIn.tenant.teamId,
        body.apiID,
        entryOf(context, 'key ended', body.apiID),
      );
      if (!isEnded)
        throw new Refusal(
          'NOT_FOUND',
          'There is no replaced key with this API ID; the pair in force ends by being replaced.',
          { field: 'apiID' },
        );
    },
  }),
];
