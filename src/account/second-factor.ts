/** The second factor: time-based codes (TOTP), sealed secrets and recovery codes. Source: RFC 6238, 4226, 4648. */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { openFor, sealFor } from '../tenant/secrets.ts';
import type { UserName } from './account-port.ts';
import { RECOVERY_CODES } from './account-bounds.ts';

const SECRET_BYTES = 20;
const STEP_MS = 30_000;
/** Number of steps accepted before and after the current one, since the clocks of phones differ. */
const STEPS_AROUND = 1;
const DIGITS = 6;
const RECOVERY_BYTES = 15; // 24 characters
const GROUP = 6;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Encodes bytes as base32 (RFC 4648), in uppercase and without padding. */
export const encodeBase32 = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0'))
    .join('')
    .replace(/.{1,5}/g, (bits) => BASE32[Number.parseInt(bits.padEnd(5, '0'), 2)]!);

/** Returns the bytes of a text from `encodeBase32`; undefined for any other text. */
export function decodeBase32(text: string): Buffer | undefined {
  const bits = Array.from(text, (digit) => BASE32.indexOf(digit).toString(2).padStart(5, '0')).join('');
  const decoded = Buffer.from(Array.from(bits.matchAll(/.{8}/g), ([byte]) => Number.parseInt(byte, 2)));
  return encodeBase32(decoded) === text ? decoded : undefined;
}

export const newSecret = (): Buffer => randomBytes(SECRET_BYTES);

/** Reads a secret that a user typed, ignoring spaces and case. Returns undefined when it is malformed. */
export function parseSecret(text: string): Buffer | undefined {
  const secret = decodeBase32(text.replaceAll(' ', '').toUpperCase());
  return secret?.length === SECRET_BYTES ? secret : undefined;
}

/** Formats the text of a QR code for authenticator apps. */
export function formatUri({ teamId, email }: UserName, secret: Uint8Array): string {
  const label = `Storeroom:${encodeURIComponent(`${email} (${teamId})`)}`;
  const parameters = `issuer=Storeroom&algorithm=SHA1&digits=${DIGITS}&period=${STEP_MS / 1000}`;
  return `otpauth://totp/${label}?secret=${encodeBase32(secret)}&${parameters}`;
}

const stepAt = (nowMs: number) => Math.floor(nowMs / STEP_MS);

/** Returns the code of a time step (RFC 4226 with the step as its counter). */
export function formatCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = mac.at(-1)! & 15;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS).padStart(DIGITS, '0');
}

/** Returns whether a text has the form of an app's code, ignoring spaces. Other texts are read as recovery codes. */
export const looksLikeCode = (text: string): boolean => /^\d{6}$/.test(text.replaceAll(' ', ''));

/** Returns the current or neighbouring step with this code; undefined when none has it. Takes constant time. */
export function findStep(secret: Uint8Array, code: string, nowMs: number): number | undefined {
  if (!looksLikeCode(code)) return undefined;
  const typed = Buffer.from(code.replaceAll(' ', ''));
  const present = stepAt(nowMs);
  let found: number | undefined;
  for (let step = Math.max(0, present - STEPS_AROUND); step <= present + STEPS_AROUND; step++)
    if (timingSafeEqual(Buffer.from(formatCode(secret, step)), typed)) found = step;
  return found;
}

/** Encrypts a secret. Only the same 32-byte key and the same user name open it. */
export const sealSecret = (secret: Uint8Array, key: Uint8Array, name: UserName): Buffer =>
  sealFor(ownerOf(name), secret, key);

/** Returns the sealed secret. Throws when the key, the user or a bit differs. */
export function openSecret(sealed: Uint8Array, key: Uint8Array, name: UserName): Buffer {
  const secret = openFor(ownerOf(name), sealed, key);
  if (secret) return secret;
  throw new Error('The secret of two-step verification cannot be decrypted. Issue a new link for the user.');
}

const ownerOf = ({ teamId, email }: UserName) => `${teamId}\0${email}`;

/** Creates ten codes `ABCDEF-GHIJKL-MNOPQR-STUVWX` of 120 random bits, and their hashes. */
export function newRecoveryCodes() {
  const plain = Array.from({ length: RECOVERY_CODES }, () => encodeBase32(randomBytes(RECOVERY_BYTES)));
  const shown = plain.map((code) => code.match(new RegExp(`.{${GROUP}}`, 'g'))!.join('-'));
  return { codes: shown, hashes: plain.map(hashRecoveryCode) };
}

/**
 * Returns the hash of a recovery code that a user typed, ignoring spaces, dashes and case. Returns undefined when the
 * code is malformed.
 */
export function parseRecoveryCode(text: string): Buffer | undefined {
  const plain = text.replaceAll(/[\s-]/g, '').toUpperCase();
  return decodeBase32(plain)?.length === RECOVERY_BYTES ? hashRecoveryCode(plain) : undefined;
}

const hashRecoveryCode = (plain: string) => hash('sha256', plain, 'buffer');
