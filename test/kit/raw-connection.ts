/** A connection that sends requests as bytes, one by one, and reads the answers with as little work as possible. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { openSocket } from './raw-http.ts';

export interface BytesAnswer {
  readonly status: number;
  /** The headers; their names are in lowercase. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

const HEAD_END = Buffer.from('\r\n\r\n');

export class RawConnection {
  readonly #origin: string;
  #socket: Socket | undefined;
  #pending: Buffer[] = [];
  #missing = 0;
  #head: { status: number; headers: Map<string, string> } | undefined;
  #isBodiless = false;
  #waiting: PromiseWithResolvers<BytesAnswer | undefined> | undefined;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Returns the answer, or undefined if the connection was closed without one. */
  async send(bytes: Buffer, isBodiless: boolean): Promise<BytesAnswer | undefined> {
    const socket = (this.#socket ??= this.#open());
    this.#waiting = Promise.withResolvers();
    this.#isBodiless = isBodiless;
    socket.write(bytes);
    const answer = await this.#waiting.promise;
    this.#waiting = undefined;
    if (answer?.headers.get('connection') === 'close') this.close();
    return answer;
  }

  /** Connects before there is anything to send. */
  async open(): Promise<void> {
    this.#socket ??= this.#open();
    await once(this.#socket, 'connect');
  }

  /** Closes the connection. A waiting `send` returns undefined. */
  close(): void {
    this.#socket?.destroy();
    this.#drop();
  }

  #drop(): void {
    this.#socket = undefined;
    this.#pending = [];
    this.#head = undefined;
    this.#missing = 0;
    this.#waiting?.resolve(undefined);
  }

  #open(): Socket {
    const socket = openSocket(this.#origin).setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('close', () => {
      if (this.#socket === socket) this.#drop();
    });
    return socket;
  }

  #take(chunk: Buffer): void {
    this.#pending.push(chunk);
    if (this.#head && (this.#missing -= chunk.length) > 0) return;
    const all = this.#pending.length === 1 ? chunk : Buffer.concat(this.#pending);
    if (!this.#head) {
      const end = all.indexOf(HEAD_END);
      this.#pending = [all];
      if (end < 0) return;
      this.#head = parseHead(all.toString('latin1', 0, end));
      const length =
        this.#isBodiless || this.#head.status < 200 ? 0 : Number(this.#head.headers.get('content-length') ?? 0);
      this.#missing = length - (all.length - end - 4);
      this.#pending = [all.subarray(end + 4)];
      if (this.#missing > 0) return;
      this.#end(this.#pending[0]!, length);
      return;
    }
    this.#end(all, all.length + this.#missing);
  }

  #end(bytes: Buffer, length: number): void {
    const { status, headers } = this.#head!;
    this.#head = undefined;
    this.#pending = [];
    // Only an interim answer is followed by further bytes.
    if (status >= 200) return this.#waiting?.resolve({ status, headers, body: bytes.subarray(0, length) });
    if (bytes.length > 0) this.#take(bytes);
  }
}

function parseHead(text: string): { status: number; headers: Map<string, string> } {
  const [statusLine = '', ...lines] = text.split('\r\n');
  const pairs = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(statusLine.slice(9, 12)), headers: new Map(pairs) };
}
