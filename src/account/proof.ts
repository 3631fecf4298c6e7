/**
 * A stolen session must not give control over the tenant. A change of users, keys or settings needs a proof from the
 * last five minutes that the caller is the user of the session. Source: decision 0023.
 */
import { Refusal } from '../errors.ts';
import { PROOF_MINUTES } from './account-bounds.ts';
import type { Session, SignedIn } from './account-port.ts';
import { SKEW_MS } from './sessions.ts';

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
