/**
 * Named pairs of keys, what the pages share with the service: scopes, how long a replaced pair stays valid, how many
 * there are. The rules are in key-pairs.ts.
 */
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
export const OVERLAPS_MS = { none: 0, '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS };
export type Overlap = keyof typeof OVERLAPS_MS;
export const OVERLAPS = Object.keys(OVERLAPS_MS) as Overlap[];

/** `read` may call what only reads. */
export const SCOPES = ['write', 'read'] as const;
export type Scope = (typeof SCOPES)[number];
/** The first pair of a tenant, and each pair from before pairs had names. */
export const DEFAULT_NAME = 'default';
export const KEY_NAME_CHARACTERS_MAX = 64;
/** Pairs in force, and as many again that were replaced and are still valid. */
export const PAIRS_MAX = 20;
/** Maximum lifetime of a pair that ends. */
export const DAYS_MAX = 3650;

/** When keys replaced now end, UTC ISO 8601. */
export const endOfOverlap = (overlap: Overlap, nowMs: number): string =>
  new Date(nowMs + OVERLAPS_MS[overlap]).toISOString();

/** Returns when a pair made now ends, UTC ISO 8601; '' without days, as it then does not end by itself. */
export const endOfDays = (days: number | undefined, nowMs: number): string =>
  days === undefined ? '' : new Date(nowMs + days * DAY_MS).toISOString();

/** Whether a key is valid now. `endsAt` is '' for one that does not end by itself. */
export const isKeyValid = (endsAt: string, now: string): boolean => endsAt === '' || endsAt > now;
