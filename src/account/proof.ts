/**
 * Proof before power: a session alone hands on no power over the tenant. Whoever changes users, keys or settings has
 * proven in the last minutes that they are the user of the session. Source: decision 0023.
 */
import { Refusal } from '../errors.ts';
import { PROOF_MINUTES } from './account-bounds.ts';
import type { Session, SignedIn } from './account-port.ts';
import { SKEW_MS } from './sessions.ts';

/**
 * What a change asks for. `recent`: a proof of the last five minutes. `sent`: the request has the password itself.
 * `none`: it hands on no power.
 */
export type ProofNeed = 'recent' | 'sent' | 'none';

const PROOF_MS = PROOF_MINUTES * 60_000;

/** Signing in, a link and each confirmed password are proofs. A time that cannot be read, or is to come, is none. */
export function isProven({ provenAt }: Pick<Session, 'provenAt'>, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(provenAt);
  return ageMs < PROOF_MS && ageMs >= -SKEW_MS;
}

/** Throws PROOF_NEEDED. */
export function requireProof({ session }: SignedIn, nowMs: number): void {
  if (!isProven(session, nowMs)) throw new Refusal('PROOF_NEEDED');
}
