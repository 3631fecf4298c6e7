/**
 * The rules of a tenant's named pairs: their names, what their scope allows, which one a replacement is for, how many
 * there are. The newest valid pair of a name is in force; one it replaced can stay valid beside it for an overlap.
 */
import { Refusal, refuseField, type Outcome } from '../errors.ts';
import { DEFAULT_NAME, KEY_NAME_CHARACTERS_MAX, PAIRS_MAX } from './keys.ts';
import type { CallingKey, KeyInfo, KeyTerms } from './tenant-port.ts';

const FIRST_TERMS: KeyTerms = { name: DEFAULT_NAME, scope: 'write' };
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9])?$/;
/** How a secret begins: one that was pasted would be shown everywhere. */
const SECRET = /sr_sk_/i;

/** Throws SCOPE_MISSING for keys that may only read. In the dashboard there are no keys, and roles decide. */
export function checkMayWrite(key: CallingKey | null): void {
  if (key?.scope !== 'read') return;
  const message = `The API keys '${key.name}' have the scope read: they may call what only reads.`;
  throw new Refusal('SCOPE_MISSING', message);
}

/** Throws COMMAND_REFUSED. */
export function checkKeyName(name: string): void {
  if (NAME.test(name) && !SECRET.test(name)) return;
  const form = `1 to ${KEY_NAME_CHARACTERS_MAX} letters, digits, spaces, '.', '_' and '-'`;
  const message = `A name of keys is ${form}, with a letter or a digit at both ends, and no secret.`;
  throw refuseField('COMMAND_REFUSED', 'name', message);
}

/** Valid keys, the newest of each name first, as pairs in force (oldest first) and replaced ones behind them. */
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
  const ageOf = ({ issuedAt, apiId }: KeyInfo): string => `${issuedAt} ${apiId}`;
  return [...inForce.toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1)), ...replaced];
}

/** COMMAND_REFUSED for a further pair with this name beside the valid ones. */
export function refuseNewPair(keys: readonly KeyInfo[], name: string): Refusal | undefined {
  const isSame = (key: KeyInfo): boolean => key.name.toLowerCase() === name.toLowerCase();
  const taken = `There are keys '${name}' already (upper and lower case count as the same): replace or end them.`;
  if (keys.some(isSame)) return refuseField('COMMAND_REFUSED', 'name', taken);
  if (keys.filter(({ isReplaced }) => !isReplaced).length < PAIRS_MAX) return undefined;
  return refuseField('COMMAND_REFUSED', 'name', `A tenant has at most ${PAIRS_MAX} pairs of keys: end one first.`);
}

/** Name and scope of the pair to replace: the one asked for, else `default`, else the oldest, else the first of all. */
export function chooseReplaced(
  keys: readonly KeyInfo[],
  asked: string | undefined,
  hasOverlap: boolean,
): Outcome<KeyTerms> {
  const inForce = keys.filter(({ isReplaced }) => !isReplaced);
  const unknown = `There are no keys '${asked}' in force: \`storeroom keys list\` shows all.`;
  const found = inForce.find(({ name }) => name === (asked ?? DEFAULT_NAME));
  if (asked !== undefined && !found) return refuseField('COMMAND_REFUSED', 'name', unknown);
  if (hasOverlap && keys.length - inForce.length >= PAIRS_MAX) {
    const most = `At most ${PAIRS_MAX} replaced pairs are valid at a time: end one first, or replace without an overlap.`;
    return refuseField('COMMAND_REFUSED', 'overlap', most);
  }
  const { name, scope } = found ?? inForce[0] ?? FIRST_TERMS;
  return { name, scope };
}
