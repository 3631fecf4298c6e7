/**
 * Rules for the names, scopes and expiry of named pairs of keys. The newest valid pair of a name is the current one. A
 * pair that it replaced can stay valid for an overlap. Browsers run this file too.
 */
import { DAY_MS, formatTime, HOUR_MS } from '../clock.ts';
import { Refusal, refuseField, type Outcome } from '../errors.ts';
import type { CallingKey, KeyInfo, KeyTerms } from './tenant-port.ts';

export const OVERLAPS_MS = { none: 0, '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS };
export type Overlap = keyof typeof OVERLAPS_MS;
export const OVERLAPS = Object.keys(OVERLAPS_MS) as Overlap[];

export type Scope = KeyTerms['scope'];
/** The scopes. Each also allows what those before it allow. */
export const SCOPES: readonly Scope[] = ['read', 'write', 'office'];
/** The name of a tenant's first pair, and of pairs issued before pairs had names. */
const DEFAULT_NAME = 'default';
export const KEY_NAME_CHARACTERS_MAX = 64;
/** Maximum number of current pairs, and of replaced pairs that are still valid. */
const PAIRS_MAX = 20;
/** Maximum lifetime, in days, of a pair that expires. */
export const DAYS_MAX = 3650;

/** Returns when keys that are replaced now expire, UTC ISO 8601. */
export const endOfOverlap = (overlap: Overlap, nowMs: number): string => formatTime(nowMs + OVERLAPS_MS[overlap]);

/** Returns when a pair that is issued now expires, UTC ISO 8601; '' without days, for a pair that never expires. */
export const endOfDays = (days: number | undefined, nowMs: number): string =>
  days === undefined ? '' : formatTime(nowMs + days * DAY_MS);

/** Returns whether a key is valid now. `endsAt` is '' for a key that never expires. */
export const isKeyValid = (endsAt: string, now: string): boolean => endsAt === '' || endsAt > now;

const FIRST_TERMS: KeyTerms = { name: DEFAULT_NAME, scope: 'write' };
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9])?$/;
/** The beginning of a secret. A secret pasted as a name would be shown everywhere. */
const SECRET = /sr_sk_/i;

/**
 * Throws SCOPE_MISSING for a key without the scope. Calls from the dashboard have no key (null): roles decide there.
 */
export function checkScope(key: CallingKey | null, needed: Scope): void {
  if (!key || SCOPES.indexOf(key.scope) >= SCOPES.indexOf(needed)) return;
  const has = key.scope === 'read' ? 'is read-only' : `has the scope ${key.scope}`;
  throw new Refusal('SCOPE_MISSING', `The key '${key.name}' ${has}. Use a key with the scope ${needed}.`);
}

/** Throws COMMAND_REFUSED when a text cannot be the name of a pair. */
export function checkKeyName(name: string): void {
  if (NAME.test(name) && !SECRET.test(name)) return;
  const form = `1 to ${KEY_NAME_CHARACTERS_MAX} letters, digits, spaces, '.', '_' and '-'`;
  const message = `A key name must be ${form}, begin and end with a letter or digit, and contain no secret.`;
  throw refuseField('COMMAND_REFUSED', 'name', message);
}

/** Sorts valid keys, which are given newest first: current pairs, oldest first, then replaced pairs. */
export function sortKeys(keys: readonly Omit<KeyInfo, 'isReplaced'>[]): KeyInfo[] {
  const names = new Set<string>();
  const inForce: KeyInfo[] = [];
  const replaced: KeyInfo[] = [];
  for (const key of keys)
    if (names.has(key.name)) replaced.push({ ...key, isReplaced: true });
    else {
      names.add(key.name);
      inForce.push({ ...key, isReplaced: false });
    }
  const ageOf = ({ issuedAt, apiId }: KeyInfo) => `${issuedAt} ${apiId}`;
  return [...inForce.toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1)), ...replaced];
}

/** Refuses (COMMAND_REFUSED) a new pair if its name is in use, or the tenant has the maximum number of pairs. */
export function refuseNewPair(keys: readonly KeyInfo[], name: string): Refusal | undefined {
  const isSame = (key: KeyInfo) => key.name.toLowerCase() === name.toLowerCase();
  const taken = `The name '${name}' is in use (case is ignored). Replace or end that pair, or choose another name.`;
  if (keys.some(isSame)) return refuseField('COMMAND_REFUSED', 'name', taken);
  if (keys.filter(({ isReplaced }) => !isReplaced).length < PAIRS_MAX) return undefined;
  return refuseField(
    'COMMAND_REFUSED',
    'name',
    `The tenant has ${PAIRS_MAX} pairs of keys, the maximum. End one first.`,
  );
}

/**
 * Returns the name and scope of the pair to replace: the requested pair, else `default`, else the oldest pair. Returns
 * the terms of a first pair when there is no current pair.
 */
export function chooseReplaced(
  keys: readonly KeyInfo[],
  asked: string | undefined,
  hasOverlap: boolean,
): Outcome<KeyTerms> {
  const inForce = keys.filter(({ isReplaced }) => !isReplaced);
  const unknown = `There is no valid pair '${asked}' to replace. List the keys to see all pairs.`;
  const found = inForce.find(({ name }) => name === (asked ?? DEFAULT_NAME));
  if (asked !== undefined && !found) return refuseField('COMMAND_REFUSED', 'name', unknown);
  if (hasOverlap && keys.length - inForce.length >= PAIRS_MAX) {
    const most = `${PAIRS_MAX} replaced pairs are still valid, the maximum. End one first, or replace without an overlap.`;
    return refuseField('COMMAND_REFUSED', 'overlap', most);
  }
  const { name, scope } = found ?? inForce[0] ?? FIRST_TERMS;
  return { name, scope };
}
