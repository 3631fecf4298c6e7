/** Verifies webhooks of the Standard Webhooks specification, https://www.standardwebhooks.com. */
import type { Change } from './changes.ts';

const TOLERANCE_SECONDS = 300;
/** A secret has at least 24 bytes. */
const SECRET = /^whsec_([A-Za-z0-9+/]{32,}=*)$/;

/** A webhook that is not from Storeroom, or not recent. Answer it with 400 and do nothing else. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

/** The body of a webhook. It says that a record changed; the change feed has the change. */
export type WebhookEvent =
  | {
      readonly type: `${Change['type']}.${Change['change']}`;
      /** The time of the change, ISO 8601. */
      readonly timestamp: string;
      readonly data: Omit<Change, 'at' | 'changes'>;
    }
  | { readonly type: 'test'; readonly timestamp: string; readonly data: object };

type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookOptions {
  /** Seconds that the time of the webhook may differ from the clock of this machine: 300 by default. */
  readonly toleranceSeconds?: number | undefined;
}

/**
 * Returns the event if a signature matches one of the secrets and its time is within the tolerance, otherwise throws a
 * WebhookError. Pass the body as bytes or text, exactly as received. While a secret is replaced, either is enough.
 */
export async function verifyWebhook(
  secret: string | readonly string[],
  headers: WebhookHeaders,
  body: string | Uint8Array,
  { toleranceSeconds = TOLERANCE_SECONDS }: WebhookOptions = {},
): Promise<WebhookEvent> {
  if (typeof body !== 'string' && !ArrayBuffer.isView(body))
    throw new TypeError('verifyWebhook needs the raw body of the request, not the value that was parsed from it.');
  const id = readHeader(headers, 'webhook-id');
  const timestamp = readHeader(headers, 'webhook-timestamp');
  const signatures = readHeader(headers, 'webhook-signature').split(' ');
  const seconds = /^\d+$/.test(timestamp) ? Number(timestamp) : NaN;
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const expected = await Promise.all([secret].flat().map((one) => sign(one, signed)));
  // Every pair is compared, and every character of a pair, so that the time does not depend on where they differ.
  const matches = expected.flatMap((own) => signatures.filter((signature) => isSame(own, signature)));
  if (matches.length === 0) throw new WebhookError('No signature of the webhook matches the secret.');
  const driftSeconds = Math.abs(Math.floor(Date.now() / 1000) - seconds);
  if (!(driftSeconds <= toleranceSeconds))
    throw new WebhookError(
      `webhook-timestamp is ${timestamp}, more than ${toleranceSeconds} seconds from the time of this machine.`,
    );
  return JSON.parse(text) as WebhookEvent;
}

function readHeader(headers: WebhookHeaders, wanted: string): string {
  const all = typeof headers.get === 'function' ? [...(headers as Headers)] : Object.entries(headers);
  const [value] = all.flatMap(([name, found]) => (name.toLowerCase() === wanted ? (found ?? []) : []));
  if (value === undefined) throw new WebhookError(`The header ${wanted} is missing.`);
  return value;
}

/** Returns the signature of the bytes, such as `v1,K5oZ…`. */
async function sign(secret: string, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const encoded = SECRET.exec(secret)?.[1];
  if (encoded === undefined)
    throw new TypeError('The secret of a webhook must begin with whsec_ and be complete, as Storeroom showed it.');
  const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
  return `v1,${btoa(String.fromCharCode(...signature))}`;
}

function isSame(own: string, other: string): boolean {
  let difference = own.length ^ other.length;
  for (let at = 0; at < own.length; at++) difference |= own.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}
