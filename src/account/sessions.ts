/** The tokens of sessions, and when a session ends. Setting a clock back ends sessions. Source: decision 0023. */
import { hash, randomBytes } from 'node:crypto';
import { formatTime } from '../clock.ts';
import { SESSION_HOURS, SESSION_IDLE_MINUTES } from './account-bounds.ts';
import type { Session } from './account-port.ts';

const MINUTE_MS = 60_000;
const IDLE_MS = SESSION_IDLE_MINUTES * MINUTE_MS;
const ABSOLUTE_MS = SESSION_HOURS * 60 * MINUTE_MS;
/** Maximum difference between the clocks of nodes. */
export const SKEW_MS = MINUTE_MS;
const TOUCH_MS = MINUTE_MS;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Creates a token for a session or a link: 32 random bytes in base64url. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** Returns the hash that the store keeps of a token; undefined when the text is not a token. */
export const hashToken = (token: string): Buffer | undefined =>
  TOKEN.test(token) ? hash('sha256', token, 'buffer') : undefined;

/** Returns whether a session was seen in the last 30 minutes and opened in the last 12 hours, and not in the future. */
export function isLive({ createdAt, seenAt }: Pick<Session, 'createdAt' | 'seenAt'>, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(createdAt);
  const idleMs = nowMs - Date.parse(seenAt);
  return ageMs < ABSOLUTE_MS && idleMs < IDLE_MS && ageMs >= -SKEW_MS && idleMs >= -SKEW_MS;
}

/** Returns the latest end of a session, UTC ISO 8601. */
export const endOfSession = ({ createdAt }: Pick<Session, 'createdAt'>): string =>
  formatTime(Date.parse(createdAt) + ABSOLUTE_MS);

/** Returns whether to save a new seenAt: at most once a minute, and never an earlier time. */
export const isToTouch = ({ seenAt }: Pick<Session, 'seenAt'>, nowMs: number): boolean =>
  nowMs - Date.parse(seenAt) >= TOUCH_MS;

/** Returns two times: sessions that were opened, or last seen, before them have ended. */
export const endedBefore = (nowMs: number) => ({
  createdBefore: formatTime(nowMs - ABSOLUTE_MS),
  seenBefore: formatTime(nowMs - IDLE_MS),
});
