/** When the keys of a tenant end. A replaced pair can stay valid beside the new one for an overlap. */
const HOUR_MS = 3_600_000;
export const OVERLAPS_MS = { none: 0, '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 7 * 24 * HOUR_MS };
export type Overlap = keyof typeof OVERLAPS_MS;
export const OVERLAPS = Object.keys(OVERLAPS_MS) as Overlap[];

/** When keys replaced now end, UTC ISO 8601. */
export const endOfOverlap = (overlap: Overlap, nowMs: number): string =>
  new Date(nowMs + OVERLAPS_MS[overlap]).toISOString();

/** Whether a key is valid now. `endsAt` is '' for the pair in force. */
export const isKeyValid = (endsAt: string, now: string): boolean => endsAt === '' || endsAt > now;
