/**
 * Sends a delivery: its message, signed as the Standard Webhooks specification 1.0 says, in one POST, without
 * redirects, within 15 seconds. Reads only the beginning of the answer.
 */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { Agent, request, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { formatTime, type Clock } from '../clock.ts';
import type { Change } from '../pims/changes.ts';
import type { Attempt, Webhook } from './webhooks-port.ts';
import { DELIVERY_MS, lookUpAll, lookUpPublic, mayBePublic, PrivateAddress } from './webhooks.ts';

const SECRET_BYTES = 32;

export interface Message extends Pick<Attempt, 'seq' | 'type' | 'key'> {
  /** The same ID for every attempt, so that a receiver can drop repeats. */
  readonly messageId: string;
  readonly body: string;
}

export function messageOf({ id }: Webhook, changed: Change): Message {
  const { at, changes: _, ...data } = changed;
  const { seq, type, key, change } = data;
  const name = `${type}.${change}`;
  const body = JSON.stringify({ type: name, timestamp: at, data });
  return { messageId: `${id}_${seq}`, type: name, seq, key, body };
}

export function testMessage(nowMs: number): Message {
  const body = JSON.stringify({ type: 'test', timestamp: formatTime(nowMs), data: {} });
  return { messageId: `test_${randomUUID()}`, type: 'test', seq: '', key: '', body };
}

/** Creates a secret: its bytes, and the text that is shown once. */
export function newSecret() {
  const bytes = randomBytes(SECRET_BYTES);
  return { bytes, secret: `whsec_${bytes.toString('base64')}` };
}

/** Returns the headers of a delivery. Each replaced secret also signs until its end. */
function sign(webhook: Webhook, { messageId, body }: Message, nowMs: number): Record<string, string> {
  const { secret: current, oldSecret, oldSecretEndsAt } = webhook;
  if (!current) throw new Error('The secret of the webhook cannot be decrypted. Remove the webhook and add it again.');
  const timestamp = String(Math.floor(nowMs / 1000));
  const signed = `${messageId}.${timestamp}.${body}`;
  // Secrets end in the order in which they were replaced, so those that still sign are the first.
  const ends = oldSecretEndsAt.split(' ').filter((end) => end > formatTime(nowMs));
  const old = ends.map((_, at) => oldSecret!.subarray(at * SECRET_BYTES, (at + 1) * SECRET_BYTES));
  const signatures = [current, ...old].map(
    (secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`,
  );
  return {
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

/** Maximum bytes read from an answer, and maximum characters kept. */
const ANSWER_BYTES_MAX = 4096;
const KEPT_CHARACTERS = 1024;

/** `error` is null for a delivery that was accepted. */
type Answer = Pick<Attempt, 'status' | 'error' | 'response' | 'durationMs'>;
export type SentMessage = Omit<Attempt, 'attempt' | 'nextTryAt'>;

interface PosterOptions {
  readonly clock: Clock;
  /** Whether private addresses and http: may be called. */
  readonly isPrivateAllowed: boolean;
  readonly lookup?: ReturnType<typeof lookUpPublic>;
}

export class Poster {
  readonly #options: PosterOptions;
  readonly #agents: Readonly<Record<string, Agent>>;

  constructor(options: PosterOptions) {
    const { isPrivateAllowed, lookup = isPrivateAllowed ? lookUpAll : lookUpPublic() } = options;
    // The time ends connections that are not in use.
    const kept = { keepAlive: true, timeout: DELIVERY_MS, lookup };
    this.#options = options;
    this.#agents = { 'http:': new Agent(kept), 'https:': new TlsAgent(kept) };
  }

  /** Signs a message and sends it once. */
  async sendMessage(webhook: Webhook, message: Message, stopped: AbortSignal): Promise<SentMessage> {
    const nowMs = this.#options.clock.now();
    const { seq, type, key, body } = message;
    const answer = await this.post(webhook.url, sign(webhook, message, nowMs), body, stopped);
    return { seq, type, key, at: formatTime(nowMs), request: body, ...answer };
  }

  /** Sends the request. Returns a failure as the `error`. Ends early when `stopped` aborts. */
  async post(url: string, headers: Record<string, string>, body: string, stopped: AbortSignal): Promise<Answer> {
    const { clock, isPrivateAllowed } = this.#options;
    const begun = clock.elapsed();
    const late = new AbortController();
    const timer = clock.after(DELIVERY_MS, () => late.abort());
    const signal = AbortSignal.any([stopped, late.signal]);
    let status: number | null = null;
    let response = '';
    let fault: unknown;
    try {
      const { protocol, hostname } = new URL(url);
      // A connection to a literal address resolves no name, so such an address is checked here.
      if (!isPrivateAllowed && (protocol !== 'https:' || !mayBePublic(hostname))) throw new PrivateAddress();
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = { 'content-type': 'application/json', 'user-agent': 'Storeroom-Webhooks', ...headers };
        request(url, { agent: this.#agents[protocol], method: 'POST', headers: sent, signal }, resolve)
          .on('error', reject)
          // An answer that changes the protocol ends the connection without another event.
          .on('close', reject)
          .end(body);
      });
      status = answer.statusCode!;
      response = await readBeginning(answer);
    } catch (thrown) {
      fault = thrown;
    } finally {
      timer.close();
    }
    const durationMs = Math.round(clock.elapsed() - begun);
    const error = status === null ? describeFault(fault, late.signal.aborted) : describeStatus(status);
    return { status, error, response, durationMs };
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }
}

async function readBeginning(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      // Leaving the loop ends the connection.
      if (bytes >= ANSWER_BYTES_MAX) break;
    }
  } catch {
    // The status decides whether the delivery was accepted.
  }
  const text = Buffer.concat(chunks).toString('utf8').replaceAll('\0', '\uFFFD');
  return text.slice(0, KEPT_CHARACTERS).toWellFormed();
}

function describeStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `The receiver answered ${status}. Webhooks do not follow redirects.`;
  return `The receiver answered ${status}.`;
}

function describeFault(fault: unknown, isLate: boolean): string {
  if (isLate) return `The receiver did not answer within ${DELIVERY_MS / 1000} seconds.`;
  if (fault instanceof PrivateAddress) return PrivateAddress.text;
  // If several addresses were tried, `errors` has the fault of each.
  const { code, errors } = (fault ?? {}) as { code?: unknown; errors?: { code?: unknown }[] };
  const reason = code ?? errors?.[0]?.code;
  return `The receiver could not be reached${typeof reason === 'string' ? ` (${reason})` : ''}.`;
}
