/** A real HTTP server that answers as the test chooses: badly, late, in part or not at all. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers a request, or does not. */
export type Answering = (response: ServerResponse, request: Received) => void;

export class UnkindServer {
  readonly #server = createServer((request, response) => void this.#take(request, response));
  readonly received: Received[] = [];
  #answers: Answering[] = [];
  readonly #told = new EventEmitter();
  baseUrl = '';

  /** Starts a server that runs until the test file ends. */
  static async start(): Promise<UnkindServer> {
    const unkind = new UnkindServer();
    unkind.#server.listen(0, '127.0.0.1');
    await once(unkind.#server, 'listening');
    after(() => {
      unkind.#server.close();
      unkind.#server.closeAllConnections();
    });
    unkind.baseUrl = `http://127.0.0.1:${(unkind.#server.address() as AddressInfo).port}/tenant/api/pims/v1`;
    return unkind;
  }

  /** Sets the answers of the next requests, in order. The last one also answers all later requests. */
  will(...answers: Answering[]): void {
    this.#answers = answers;
    this.received.length = 0;
  }

  /** Waits until the server has received this many requests. */
  async has(count: number): Promise<void> {
    while (this.received.length < count) await once(this.#told, 'request');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return; // the sender was killed
    const received = { method, url, headers, body };
    this.received.push(received);
    this.#told.emit('request');
    const [answer] = this.#answers.length > 1 ? this.#answers.splice(0, 1) : this.#answers;
    answer!(response, received);
  }
}

export const succeed =
  (data: unknown = '1'): Answering =>
  (response) =>
    response.end(JSON.stringify({ status: 'success', data, subRecords: null }));

export const refuse =
  (status: number, code: string, headers: Record<string, string> = {}): Answering =>
  (response) =>
    response.writeHead(status, headers).end(JSON.stringify({ status: 'error', code, message: 'No.', requestId: 'r1' }));

export const hangUp: Answering = (response) => response.destroy();
export const saySoAndHangUp: Answering = (response) => {
  response.writeHead(200, { 'Content-Length': '1000' });
  response.write('{"status":"succ', () => response.destroy());
};
export const keepSilent: Answering = () => undefined;
export const page =
  (status: number, headers: Record<string, string> = {}): Answering =>
  (response) =>
    response.writeHead(status, { 'Content-Type': 'text/html', ...headers }).end('<html>Some proxy</html>');
