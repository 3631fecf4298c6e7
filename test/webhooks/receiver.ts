/**
 * Begin here: a receiver of webhooks in this process verifies every message with the package `standardwebhooks` and
 * answers as the test chooses. Other functions add and list webhooks, and let time pass for the service.
 */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import { after, mock } from 'node:test';
import { Webhook } from 'standardwebhooks';
import type { WebhookView } from '../../src/webhooks/administration.ts';
import type { Keys, Service } from '../kit/service.ts';
import { until, untilTold } from '../kit/wait.ts';

export interface Message {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<'seq' | 'type' | 'key' | 'change' | 'operation' | 'by', string>>;
  readonly signatures: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly url: string;
  /** Whether the receiver has answered with a status of success. */
  isTaken: boolean;
}

/**
 * The answer to a message: a status; `hang`: none; `slow`: 200 at a later `answerSlow`; `close`: the connection ends;
 * `redirect`: a redirect to an address that would accept the message.
 */
export type Behaviour = number | 'hang' | 'slow' | 'close' | 'redirect';

export class Receiver {
  readonly #server: Server;
  readonly #events = new EventEmitter();
  readonly #sockets = new Set<Socket>();
  readonly received: Message[] = [];
  /** The secrets of the webhooks. One of them has to verify each message. */
  secrets: string[] = [];
  behave: (message: Message) => Behaviour = () => 200;
  answer = 'Thanks';
  /** Number of connections that were opened. */
  connections = 0;
  #slow: { readonly message: Message; readonly response: ServerResponse; isDue: boolean }[] = [];

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
    this.#server.on('connection', (socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    after(() => this.close());
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await receiver.listen();
    return receiver;
  }

  async listen(port = 0): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hooks?shop=1`;
  }

  /** Closes the receiver, and listens again at the same address. */
  async restart(): Promise<void> {
    const { port } = this;
    const ended = once(this.#server, 'close');
    this.close();
    await ended;
    await this.listen(port);
  }

  /** Answers the slow messages that already waited at the previous call. No other message may have arrived since. */
  async answerSlow(): Promise<void> {
    const due = this.#slow.filter(({ isDue }) => isDue);
    this.#slow = this.#slow.filter(({ isDue }) => !isDue);
    for (const one of this.#slow) one.isDue = true;
    for (const { message, response } of due) {
      assert.equal(this.received.at(-1), message, 'a message came while the one before it had no answer');
      message.isTaken = true;
      response.end(this.answer);
      await finished(response);
    }
  }

  /** Stops listening and ends all connections. */
  close(): void {
    this.#slow = [];
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Waits until this many messages have arrived in total. */
  async has(count: number): Promise<Message[]> {
    await untilTold(this.#events, 'message', () => this.received.length >= count, `${count} messages`);
    return this.received;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const headers = request.headers as Record<string, string>;
    const signatures = verify(body, headers, this.secrets);
    const id = headers['webhook-id']!;
    const known = { id, ...JSON.parse(body), signatures, headers, body, url: request.url! } as Message;
    const behaviour = this.behave(known);
    const message = { ...known, isTaken: typeof behaviour === 'number' && behaviour < 300 };
    this.received.push(message);
    this.#events.emit('message');
    if (behaviour === 'slow') this.#slow.push({ message, response, isDue: false });
    else if (behaviour === 'close') request.socket.destroy();
    else if (behaviour === 'redirect') response.writeHead(307, { location: `${this.url}&followed` }).end();
    else if (behaviour !== 'hang') response.writeHead(behaviour).end(this.answer);
  }
}

/** Verifies a message at the time in its header, which is the service's time. Returns the number of its signatures. */
function verify(body: string, headers: Record<string, string>, secrets: readonly string[]): number {
  mock.timers.enable({ apis: ['Date'], now: Number(headers['webhook-timestamp']) * 1000 });
  try {
    const fits = secrets.filter((secret) => {
      try {
        return new Webhook(secret).verify(body, headers) !== undefined;
      } catch {
        return false;
      }
    });
    assert.notEqual(fits.length, 0, `No secret fits ${headers['webhook-signature']}`);
  } finally {
    mock.timers.reset();
  }
  return headers['webhook-signature']!.split(' ').length;
}

/** The settings of a service that may call receivers on this machine. */
export const PRIVATE = { STOREROOM_WEBHOOK_PRIVATE: 'on' };

/** Runs `storeroom webhook …` without the service's settings. Throws the message of the command if it is refused. */
export async function webhook(service: Service, ...words: string[]): Promise<Record<string, string>> {
  const { stdout, stderr } = await service.command('webhook', ...words, '--json');
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, string>;
}

/** Adds a webhook for a receiver, and tells the receiver the secret. Returns the ID and secret of the webhook. */
export async function addWebhook(
  service: Service,
  teamID: string,
  receiver: Receiver,
  ...more: string[]
): Promise<{ id: string; secret: string }> {
  const { id = '', secret = '' } = await webhook(service, 'add', teamID, receiver.url, ...more);
  receiver.secrets.push(secret);
  return { id, secret };
}

export async function listWebhooks(service: Service, teamID: string): Promise<WebhookView[]> {
  return ((await webhook(service, 'list', teamID)) as unknown as { webhooks: WebhookView[] }).webhooks;
}

/** Moves the clock of the service in steps until `isSo` returns true. */
export async function passUntil(service: Service, isSo: () => boolean | Promise<boolean>, ms = 2000): Promise<void> {
  await until(isSo, async () => {
    await service.move(ms);
    await fetch(`${service.origin}/healthz`);
  });
}

/** Creates this many customers, in batches of a hundred. */
export async function createCustomers(service: Service, keys: Keys, count: number): Promise<void> {
  for (let done = 0; done < count; done += 100) {
    const step = { operation: 'createCustomer', body: { CUSTOMER_NAME: 'Ann' } };
    const body = Array.from({ length: Math.min(100, count - done) }, () => step);
    const { status, text } = await service.call(keys, 'POST', '/batch', { body });
    assert.equal(status, 200, text);
  }
}
