/**
 * Replacing a tenant's keys: how long the old ones may stay good beside the new ones. Issuing a pair is credentials.ts, keeping it the store.
 */

const HOUR_MS = 3_600_000;
export const OVERLAPS_MS = { none: 0, '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 7 * 24 * HOUR_MS };
export type Overlap = keyof typeof OVERLAPS_MS;

/** When keys replaced now end, UTC ISO 8601. */
export const endOfOverlap = (overlap: Overlap, nowMs: number): string =>
  new Date(nowMs + OVERLAPS_MS[overlap]).toISOString();
