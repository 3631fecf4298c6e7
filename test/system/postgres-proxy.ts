/**
 * A proxy to PostgreSQL that fails as networks do. It cuts connections between a commit and its answer, after COMMIT
 * and after a statement that commits by itself. It also goes silent: it then holds back the bytes of both directions,
 * and new connections. It changes no byte and does not support TLS.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export type CutKind = 'commit' | 'statement';

/** Matches the text of a statement that writes. */
const WRITES = /\b(INSERT|UPDATE|DELETE|MERGE)\b/i;
const SYNC = 'S';
/** Messages after which the server may wait for bytes of the client in the middle of an answer. */
const COPIES = 'GHW';

export class PostgresProxy {
  readonly url: string;
  readonly #server: Server;
  readonly #upstream: { host: string; port: number };
  readonly #relays = new Set<Relay>();
  #armed: { kind: CutKind; onCut: () => void } | undefined;
  readonly #awaited = new Set<{ readonly statement: RegExp; readonly tell: () => void }>();
  #isSilent = false;
  /** Number of connections cut so far. */
  readonly cuts: Record<CutKind, number> = { commit: 0, statement: 0 };
  /** Number of connections opened so far. */
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

  /** Opens a proxy on a free port. Its `url` is the given one with that port. */
  static async open(databaseUrl: string): Promise<PostgresProxy> {
    const server = createServer({ noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PostgresProxy(server, new URL(databaseUrl));
  }

  /** Cuts the connection that gets the next answer of this kind. Resolves after the cut. */
  cutNext(kind: CutKind): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#armed = { kind, onCut: resolve };
    return promise;
  }

  /** Resolves when a matching statement, sent from now on, is answered and its answer is passed on. */
  answers(statement: RegExp): Promise<void> {
    return new Promise((tell) => this.#awaited.add({ statement, tell }));
  }

  /** Removes and returns the callbacks to call when this statement is answered. */
  takeAwaited(text: string): (() => void)[] {
    const found = [...this.#awaited].filter(({ statement }) => statement.test(text));
    for (const one of found) this.#awaited.delete(one);
    return found.map(({ tell }) => tell);
  }

  /**
   * Passes nothing on from now on, like a firewall that drops packets. What is sent meanwhile arrives after `speak`.
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

  /** Returns whether this answer must be cut, and counts the cut. */
  takeCut(kind: CutKind): boolean {
    if (this.#armed?.kind !== kind) return false;
    this.cuts[kind]++;
    this.#armed.onCut();
    this.#armed = undefined;
    return true;
  }
}

/**
 * One connection. An answer is passed on together with its ReadyForQuery, so that after a cut the client has no part of
 * it.
 */
class Relay {
  readonly #proxy: PostgresProxy;
  readonly #client: Socket;
  readonly #address: { host: string; port: number };
  #server: Socket | undefined;
  /** Texts of prepared statements by name, of the statement that is being sent, and of unanswered statements. */
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

  /** Ends an answer. A single statement is committed when the server is ready, not when it reports what was done. */
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

/** Reads at most two texts that end with a zero byte, beginning at `start`. */
function readTexts(message: Buffer, start: number): string[] {
  const first = message.indexOf(0, start);
  if (first < 0) return [];
  const second = message.indexOf(0, first + 1);
  const texts = [message.toString('utf8', start, first)];
  if (second > 0) texts.push(message.toString('utf8', first + 1, second));
  return texts;
}

/** Splits arriving bytes into whole messages with their types. */
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
