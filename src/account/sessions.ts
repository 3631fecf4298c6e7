/** The tokens of sessions, and when a session ends. A clock that is set back ends sessions. Source: decision 0023. */
import { hash, randomBytes } from 'node:crypto';
import { SESSION_HOURS, SESSION_IDLE_MINUTES } from './account-bounds.ts';
import type { Session } from './account-port.ts';

const MINUTE_MS = 60_000;
const IDLE_MS = SESSION_IDLE_MINUTES * MINUTE_MS;
const ABSOLUTE_MS = SESSION_HOURS * 60 * MINUTE_MS;
/** How far the clocks of nodes may lie apart. */
export const SKEW_MS = MINUTE_MS;
const TOUCH_MS = MINUTE_MS;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** 32 random bytes, base64url: for sessions and for links. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** The hash that the store has of a token; undefined when the text is not one. */
export const hashToken = (token: string): Buffer | undefined =>
  TOKEN.test(token) ? hash('sha256', token, 'buffer') : undefined;

/** Seen in the last 30 minutes, opened in the last 12 hours, and neither of them in the future. */
export function isLive({ createdAt, seenAt }: Pick<Session, 'createdAt' | 'seenAt'>, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(createdAt);
  const idleMs = nowMs - Date.parse(seenAt);
  return ageMs < ABSOLUTE_MS && idleMs < IDLE_MS && ageMs >= -SKEW_MS && idleMs >= -SKEW_MS;
}

/** The latest end of a session, UTC ISO 8601. */
export const endOfSession = ({ createdAt }: Pick<Session, 'createdAt'>): string =>
  new Date(Date.parse(createdAt) + ABSOLUTE_MS).toISOString();

/** Whether to save a new seenAt: at most once a minute, and never an earlier time. */
export const isToTouch = ({ seenAt }: Pick<Session, 'seenAt'>, nowMs: number): boolean =>
  nowMs - Date.parse(seenAt) >= TOUCH_MS;

/** Sessions opened, or last seen, before these times have ended. */
export const endedBefore = (nowMs: number): { createdBefore: string; seenBefore: string } => ({
  createdBefore: new Date(nowMs - ABSOLUTE_MS).toISOString(),
  seenBefore: new Date(nowMs - IDLE_MS).toISOString(),
});
