/**
 * The tokens of sessions, when a session ends, and the proof that its caller is its user: a stolen session must not
 * give control over the tenant. Setting a clock back ends sessions. Source: decision 0023.
 */
import { hash, randomBytes } from 'node:crypto';
import { formatTime } from '../clock.ts';
import { Refusal } from '../errors.ts';
import { PROOF_MINUTES, SESSION_HOURS, SESSION_IDLE_MINUTES } from './account-bounds.ts';
import type { Session, SignedIn } from './account-port.ts';

const MINUTE_MS = 60_000;
const IDLE_MS = SESSION_IDLE_MINUTES * MINUTE_MS;
const ABSOLUTE_MS = SESSION_HOURS * 60 * MINUTE_MS;
/** Maximum difference between the clocks of nodes. */
const SKEW_MS = MINUTE_MS;
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

/**
 * The proof that a change needs. `recent`: a proof from the last five minutes. `sent`: the password in the request
 * itself. `none`: no proof, because the change gives no one more rights.
 */
export type ProofNeed = 'recent' | 'sent' | 'none';

const PROOF_MS = PROOF_MINUTES * 60_000;

/** Returns whether the last sign-in, link or confirmed password is recent. An unreadable or future time is not. */
export function isProven({ provenAt }: Pick<Session, 'provenAt'>, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(provenAt);
  return ageMs < PROOF_MS && ageMs >= -SKEW_MS;
}

/** Throws PROOF_NEEDED if the session has no recent proof. */
export function requireProof({ session }: SignedIn, nowMs: number): void {
  if (!isProven(session, nowMs)) throw new Refusal('PROOF_NEEDED');
}
