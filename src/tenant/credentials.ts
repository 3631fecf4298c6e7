/**
 * Parses credentials in a Basic header (RFC 7617), issues keys, hashes and compares their secrets, and keeps the last
 * calls whose credentials were wrong, in memory, for the team's developers.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { isTeamId } from './tenant.ts';

export interface Credentials {
  readonly apiId: string;
  readonly apiSecret: string;
}

/** Names of the parameters that identify the caller, in a query or a body. */
export const CALLER_PARAMETERS: readonly string[] = ['teamID', 'apiID', 'apiSecret'];

/** A new pair of keys. The secret is shown once and never stored. */
export interface IssuedKey extends Credentials {
  readonly secretHash: Buffer;
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET = /^sr_sk_[0-9A-Za-z]{49}$/;
const AUTHORIZATION_BYTES_MAX = 512;

/** Issues a pair: `sr_id_` and 22 characters; `sr_sk_`, 43 characters (over 250 random bits) and a checksum of 6. */
export function issueKey(): IssuedKey {
  const body = `sr_sk_${randomBase62(43)}`;
  const apiSecret = body + checksum(body);
  return { apiId: `sr_id_${randomBase62(22)}`, apiSecret, secretHash: hashSecret(apiSecret) };
}

/** Hashes a secret with SHA-256, which is secure for this many random bits, and fast enough for every call. */
export const hashSecret = (apiSecret: string): Buffer => Buffer.from(hash('sha256', apiSecret, 'latin1'), 'latin1');

/** Returns whether a text has the form of a secret. Detects a mistyped secret without asking the store. */
export const looksLikeSecret = (text: string): boolean =>
  SECRET.test(text) && checksum(text.slice(0, -6)) === text.slice(-6);

/** Compares two SHA-256 digests in constant time. */
export const sameHash = (a: Uint8Array, b: Uint8Array): boolean => timingSafeEqual(a, b);

/**
 * Parses a Basic header: strict base64 of UTF-8, at most 512 bytes, divided at the first colon. Returns `undefined`
 * when there is none (other schemes are ignored), and `null` when it is malformed.
 */
export function parseBasic(header: string | undefined): Credentials | null | undefined {
  const scheme = /^basic(?: +|$)/i.exec(header ?? '')?.[0];
  if (header === undefined || scheme === undefined) return undefined;
  if (header.length > AUTHORIZATION_BYTES_MAX) return null;
  const bytes = decodeBase64(header.slice(scheme.length));
  const text = bytes?.toString('utf8');
  if (text === undefined || text.includes('\uFFFD')) return null;
  const colon = text.indexOf(':');
  return colon < 1 ? null : { apiId: text.slice(0, colon), apiSecret: text.slice(colon + 1) };
}

function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

function randomBase62(length: number): string {
  let text = '';
  while (text.length < length)
    for (const byte of randomBytes(length * 2)) if (byte < 248 && text.length < length) text += ALPHABET[byte % 62];
  return text;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < 6; place++) {
    digits = ALPHABET[rest % 62]! + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

const CALLS_MAX = 100;
const TEAMS_MAX = 500;
const SHOWN_CHARACTERS = { apiID: 14, path: 100, client: 64 };

export interface RejectedCall {
  /** UTC ISO 8601. */
  readonly at: string;
  readonly client: string;
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  /** The beginning of the API ID that was sent; '' for none. */
  readonly apiID: string;
}

/**
 * Keeps the last calls that named a team but had no valid keys, without their secrets. Only the form of a team's name
 * is checked, so that a wrong call costs no query. Beyond 500 names, the name that was called longest ago is forgotten.
 */
export class RejectedCalls {
  readonly #byTeam = new Map<string, RejectedCall[]>();

  noteRejected(teamId: string, { apiID, path, client, ...call }: RejectedCall): void {
    if (!isTeamId(teamId)) return;
    const calls = this.#byTeam.get(teamId) ?? [];
    this.#byTeam.delete(teamId);
    if (this.#byTeam.size >= TEAMS_MAX) this.#byTeam.delete(this.#byTeam.keys().next().value!);
    this.#byTeam.set(copyStart(teamId, teamId.length), calls);
    const shown = {
      apiID: copyStart(apiID, SHOWN_CHARACTERS.apiID),
      path: copyStart(path, SHOWN_CHARACTERS.path),
      client: copyStart(client, SHOWN_CHARACTERS.client),
    };
    calls.unshift({ ...call, ...shown });
    if (calls.length > CALLS_MAX) calls.pop();
  }

  /** Returns the calls of a team, newest first. */
  listRejected(teamId: string): readonly RejectedCall[] {
    return this.#byTeam.get(teamId) ?? [];
  }
}

/** Returns a copy of the start. A slice would keep the whole text in memory, whose length any caller can choose. */
const copyStart = (text: string, most: number) => Buffer.from(text.slice(0, most)).toString();
