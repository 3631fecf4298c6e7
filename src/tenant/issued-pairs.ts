/** Issues and replaces named pairs of keys, by the rules of keys.ts. */
import { entryBy, type Actor } from '../audit/audit.ts';
import { orThrow } from '../errors.ts';
import { issueKey } from './credentials.ts';
import { checkKeyName, endOfDays, endOfOverlap, type Overlap } from './keys.ts';
import type { KeyTerms, TenantStore } from './tenant-port.ts';

/** Issues a pair, which expires after `days`, or never. Only the result contains the secret. Throws COMMAND_REFUSED. */
export async function createPair(
  tenants: TenantStore,
  teamId: string,
  { name, scope, days }: KeyTerms & { readonly days?: number | undefined },
  actor: Actor,
) {
  checkKeyName(name);
  const key = issueKey();
  const endsAt = endOfDays(days, actor.nowMs);
  const entry = entryBy(actor, 'keys created', key.apiId, { name, scope, endsAt });
  orThrow(await tenants.createKeys(teamId, { ...key, name, scope }, endsAt, entry));
  return { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret, name, scope, endsAt: endsAt || null };
}

/** Replaces the pair that chooseReplaced returns. Only the result contains the secret. Throws COMMAND_REFUSED. */
export async function replacePair(
  tenants: TenantStore,
  teamId: string,
  asked: string | undefined,
  overlap: Overlap,
  actor: Actor,
) {
  const key = issueKey();
  const oldKeysEndAt = endOfOverlap(overlap, actor.nowMs);
  const entry = entryBy(actor, 'keys replaced', key.apiId, { overlap });
  const { name } = orThrow(await tenants.replaceKeys(teamId, key, oldKeysEndAt, entry, asked));
  return { pair: { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret }, name, oldKeysEndAt };
}
