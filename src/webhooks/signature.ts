/** Secrets, signatures and bodies of deliveries. Source: the Standard Webhooks specification, 1.0. */
import { createHmac, randomBytes } from 'node:crypto';
import { openFor, sealFor } from '../tenant/sealing.ts';
import type { Webhook } from './webhooks-port.ts';

const SECRET_BYTES = 32;
const PREFIX = 'whsec_';

type Owner = Pick<Webhook, 'teamId' | 'id'>;
const ownerOf = ({ teamId, id }: Owner): string => `webhook ${teamId} ${id}`;

/** Creates a secret: the text that is shown once, and its sealed bytes. */
export function newSecret(owner: Owner, key: Uint8Array): { readonly secret: string; readonly sealed: Buffer } {
  const bytes = randomBytes(SECRET_BYTES);
  return { secret: PREFIX + bytes.toString('base64'), sealed: sealFor(ownerOf(owner), bytes, key) };
}

/** Returns the headers of a delivery. Two secrets sign while one is replaced. */
export function signDelivery(
  webhook: Owner & Pick<Webhook, 'sealedSecret' | 'oldSecret' | 'oldSecretEndsAt'>,
  key: Uint8Array,
  messageId: string,
  body: string,
  nowMs: number,
): Record<string, string> {
  const { sealedSecret, oldSecret, oldSecretEndsAt } = webhook;
  const hasOld = oldSecret !== null && oldSecretEndsAt > new Date(nowMs).toISOString();
  const timestamp = String(Math.floor(nowMs / 1000));
  const sign = (sealed: Uint8Array): string => {
    const secret = openFor(ownerOf(webhook), sealed, key);
    if (!secret) throw new Error('The secret of a webhook cannot be opened: the installation has another key now.');
    return `v1,${createHmac('sha256', secret).update(`${messageId}.${timestamp}.${body}`).digest('base64')}`;
  };
  return {
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': (hasOld ? [sealedSecret, oldSecret] : [sealedSecret]).map(sign).join(' '),
  };
}
