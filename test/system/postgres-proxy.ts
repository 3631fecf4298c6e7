/**
 * A line to PostgreSQL that fails as networks do. It cuts a connection between a commit and its answer, after COMMIT
 * and after a statement that commits by itself; and it goes silent: it holds the bytes of both directions and new
 * connections back. It changes no byte and does not speak TLS.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export type CutKind = 'commit' | 'statement';

/** What of a statement's text says that it writes. */
const WRITES = /\b(INSERT|UPDATE|DELETE|MERGE)\b/i;
const SYNC = 'S';
/** With these the server waits for bytes of the client in the middle of an answer. */
const COPIES = 'GHW';

export class PostgresProxy {
  readonly url: string;
  readonly #server: Server;
  readonly #upstream: { host: string; port: number };
  readonly #relays = new Set<Relay>();
  #armed: { kind: CutKind; onCut: () => void } | undefined;
  readonly #awaited = new Set<{ readonly statement: RegExp; readonly tell: () => void }>();
  #isSilent = false;
  /** Connections cut so far. */
  readonly cuts: Record<CutKind, number> = { commit: 0, statement: 0 };
  /** Connections opened so far. */
  opened = 0;

  private constructor(server: Server, databaseUrl: URL) {
    this.#server = server;
    this.#upstream = { host: databaseUrl.hostname, port: Number(databaseUrl.port) };
    const own = new URL(databaseUrl);
    own.hostname = '127.0.0.1';
    own.port = String((server.address() as AddressInfo).port);
    this.url = own.href;
    server.on('connection', (client) => {
      this.opened++;
      const relay = new Relay(this, client, this.#upstream);
      this.#relays.add(relay);
      client.once('close', () => this.#relays.delete(relay));
      if (this.#isSilent) relay.pause();
      else relay.open();
    });
  }

  /** Listens on a free port of its own; `url` is the given one with that port. */
  static async open(databaseUrl: string): Promise<PostgresProxy> {
    const server = createServer({ noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PostgresProxy(server, new URL(databaseUrl));
  }

  /** Cuts the connection whose answer is the next of this kind; resolves when it has. */
  cutNext(kind: CutKind): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#armed = { kind, onCut: resolve };
    return promise;
  }

  /** Resolves when such a statement, sent from now on, is answered and the answer passed on. */
  answers(statement: RegExp): Promise<void> {
    return new Promise((tell) => this.#awaited.add({ statement, tell }));
  }

  /** Of those that wait for such a statement the ones to tell when it is answered. */
  takeAwaited(text: string): (() => void)[] {
    const found = [...this.#awaited].filter(({ statement }) => statement.test(text));
    for (const one of found) this.#awaited.delete(one);
    return found.map(({ tell }) => tell);
  }

  /**
   * From now on nothing arrives, as behind a firewall that drops packets; what was sent arrives when it speaks again.
   */
  goSilent(): void {
    this.#isSilent = true;
    for (const relay of this.#relays) relay.pause();
  }

  speak(): void {
    this.#isSilent = false;
    for (const relay of this.#relays) relay.resume();
  }

  close(): void {
    this.#server.close();
    for (const relay of this.#relays) relay.cut();
  }

  /** Whether this answer is the one to be cut. */
  takeCut(kind: CutKind): boolean {
    if (this.#armed?.kind !== kind) return false;
    this.cuts[kind]++;
    this.#armed.onCut();
    this.#armed = undefined;
    return true;
  }
}

/**
 * One connection. What belongs to one ReadyForQuery is passed on together with it, so that a cut leaves nothing of the
 * answer with the client.
 */
class Relay {
  readonly #proxy: PostgresProxy;
  readonly #client: Socket;
  readonly #address: { host: string; port: number };
  #server: Socket | undefined;
  /** Texts of prepared statements by their names, of what is being sent, and of what was sent and is not answered. */
  readonly #prepared = new Map<string, string>();
  #sending = '';
  readonly #unanswered: { readonly text: string; readonly tell: (() => void)[] }[] = [];
  #held: Buffer[] = [];
  #tags: string[] = [];
  #hasFailed = false;
  #isReady = false;
  #wasInTransaction = false;

  constructor(proxy: PostgresProxy, client: Socket, address: { host: string; port: number }) {
    this.#proxy = proxy;
    this.#client = client;
    this.#address = address;
    client.on('error', () => undefined);
  }

  open(): void {
    const server = connect({ ...this.#address, noDelay: true });
    this.#server = server;
    let startup = true;
    const requests = new MessageReader((type, message) => this.#takeRequest(type, message));
    this.#client.on('data', (bytes: Buffer) => {
      server.write(bytes);
      // The first message has no type.
      requests.add(startup ? bytes.subarray(bytes.readInt32BE(0)) : bytes);
      startup = false;
    });
    const answers = new MessageReader((type, message) => this.#takeAnswer(type, message));
    server.on('data', (bytes: Buffer) => answers.add(bytes));
    server.on('error', () => this.#client.resetAndDestroy());
    server.on('close', () => {
      this.#passOn();
      this.#client.end();
    });
    this.#client.on('close', () => server.end());
  }

  cut(): void {
    this.#client.destroy();
    this.#server?.destroy();
  }

  pause(): void {
    this.#client.pause();
    this.#server?.pause();
  }

  resume(): void {
    if (!this.#server) this.open();
    this.#client.resume();
    this.#server?.resume();
  }

  #takeRequest(type: string, message: Buffer): void {
    if (type === 'P') {
      const [name = '', text = ''] = readTexts(message, 5);
      this.#prepared.set(name, text);
    } else if (type === 'B') this.#sending += `${this.#prepared.get(readTexts(message, 5)[1] ?? '') ?? ''};`;
    else if (type === 'Q') this.#sending = readTexts(message, 5)[0] ?? '';
    if (type !== SYNC && type !== 'Q') return;
    this.#unanswered.push({ text: this.#sending, tell: this.#proxy.takeAwaited(this.#sending) });
    this.#sending = '';
  }

  #takeAnswer(type: string, message: Buffer): void {
    this.#held.push(message);
    if (type === 'C') this.#tags.push(readTexts(message, 5)[0] ?? '');
    else if (type === 'E') this.#hasFailed = true;
    if (type === 'Z') this.#endAnswer(message[5] !== 'I'.charCodeAt(0));
    else if (!this.#isReady || COPIES.includes(type)) this.#passOn();
  }

  /** A statement by itself is committed when the server says that it is ready, not when it tells what was done. */
  #endAnswer(isInTransaction: boolean): void {
    const { text = '', tell = [] } = (this.#isReady ? this.#unanswered.shift() : undefined) ?? {};
    const isWrite = !this.#wasInTransaction && !isInTransaction && WRITES.test(text);
    const kind = this.#hasFailed
      ? undefined
      : this.#tags.includes('COMMIT')
        ? 'commit'
        : isWrite
          ? 'statement'
          : undefined;
    this.#isReady = true;
    this.#wasInTransaction = isInTransaction;
    this.#hasFailed = false;
    this.#tags = [];
    if (kind && this.#proxy.takeCut(kind)) {
      this.#held = [];
      this.cut();
    } else {
      this.#passOn();
      for (const one of tell) one();
    }
  }

  #passOn(): void {
    if (this.#held.length > 0 && !this.#client.destroyed) this.#client.write(Buffer.concat(this.#held));
    this.#held = [];
  }
}

/** Texts that end with a zero byte, two at most, from here on. */
function readTexts(message: Buffer, start: number): string[] {
  const first = message.indexOf(0, start);
  if (first < 0) return [];
  const second = message.indexOf(0, first + 1);
  const texts = [message.toString('utf8', start, first)];
  if (second > 0) texts.push(message.toString('utf8', first + 1, second));
  return texts;
}

/** Gives whole messages with their type out of bytes as they come. */
class MessageReader {
  readonly #take: (type: string, message: Buffer) => void;
  #rest: Buffer = Buffer.alloc(0);

  constructor(take: (type: string, message: Buffer) => void) {
    this.#take = take;
  }

  add(bytes: Buffer): void {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const end = 1 + rest.readInt32BE(1);
      const message = rest.subarray(0, end);
      rest = rest.subarray(end);
      this.#take(String.fromCharCode(message[0]!), message);
    }
    this.#rest = rest;
  }
}
