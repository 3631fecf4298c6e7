/**
 * One connection to PostgreSQL: statements go out at once, one behind the other, and are answered in their order. Keeps a bounded number of them
 * prepared, and notices when the server no longer answers. The only place that knows the driver. Never retries anything.
 */
import { Client, DatabaseError, types as parsers, type QueryArrayResult } from 'pg';
import { Refusal } from '../../errors.ts';
import type { Bound, Row } from '../writing.ts';

export interface ConnectionOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** Settings of the session, such as `statement_timeout`. */
  readonly session: Readonly<Record<string, string | number>>;
  /** A statement that has waited this long for any answer means that the server is gone. */
  readonly silenceMs: number;
  readonly connectTimeoutMs: number;
}

/** Values of a statement; lists become arrays. */
export type Values = readonly (Bound | readonly (string | number | Uint8Array | null)[])[];

/** Every prepared statement holds memory in the server's process, and with thousands of tenants there is no end of them. */
const PREPARED_MAX = 600;
/** What a server process remembers of tables it has touched is never given back; a connection that has seen this many statements makes place for a new one. */
const STATEMENTS_PER_LIFE = 5000;
const SILENCE_CHECK_MS = 100;
const BIGINT = 20;

/** The connection was lost or fell silent, or none could be had: what was under way may have happened or not. */
export class ConnectionLost extends Refusal {
  /** For the operator; the caller is told only that the store cannot be used. */
  override readonly cause: string;
  /** Whether the server stopped answering, instead of going away. */
  readonly isSilent: boolean;
  /** Whether what was under way was a transaction that had not been asked to commit, and so is undone. */
  isUndone = false;

  constructor(cause: string, isSilent = false) {
    super('STORE_UNAVAILABLE', undefined, { retryAfterSeconds: 1 });
    this.cause = cause;
    this.isSilent = isSilent;
  }
}

// Counters and counts stay far below 2^53.
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === BIGINT ? Number : parsers.getTypeParser(oid, format),
};

export class Connection {
  readonly #client: Client;
  readonly #silenceMs: number;
  readonly #prepared = new Map<string, string>();
  #statements = 0;
  #unanswered = 0;
  #heardAt = 0;
  #watch: NodeJS.Timeout | undefined;
  #lost: ConnectionLost | undefined;

  private constructor(client: Client, silenceMs: number) {
    this.#client = client;
    this.#silenceMs = silenceMs;
    // Without a listener the end of an idle connection would end the process.
    client.on('error', (fault) => this.destroy(fault.message));
    client.on('end', () => this.destroy('it ended'));
  }

  /** Throws what the driver or the server said. */
  static async open({ url, name, session, silenceMs, connectTimeoutMs }: ConnectionOptions): Promise<Connection> {
    const client = new Client({
      connectionString: addSession(url, name, {
        TimeZone: 'UTC',
        jit: 'off',
        client_min_messages: 'warning',
        ...session,
      }),
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      pipeline: true,
      types,
    });
    const connection = new Connection(client, silenceMs);
    try {
      await client.connect();
      return connection;
    } catch (fault) {
      connection.destroy('it could not be opened');
      throw fault;
    }
  }

  /** Whether it can take another statement. One that has seen too much is not lost: what is under way is still answered. */
  get isOpen(): boolean {
    return this.#lost === undefined && this.#statements < STATEMENTS_PER_LIFE;
  }

  /** Runs a statement that comes again and again, prepared. `?` stands for a value. Rows are arrays. */
  async query<R extends Row>(sql: string, values: Values = []): Promise<R[]> {
    return (await this.#send({ name: this.#prepare(sql), text: sql, values })).rows as unknown as R[];
  }

  /** Runs a statement as it is, once. */
  async queryOnce<R extends Row>(sql: string, values: Values = []): Promise<R[]> {
    return (await this.#send({ text: sql, values })).rows as unknown as R[];
  }

  /** Commits. PostgreSQL answers COMMIT with ROLLBACK when a statement before it failed. */
  async commit(): Promise<void> {
    const { command } = await this.#send({ text: 'COMMIT', values: [] });
    if (command !== 'COMMIT') throw new Error('The transaction had failed and was rolled back.');
  }

  /** Runs a script of many statements. */
  async execute(script: string): Promise<void> {
    if (this.#lost) throw this.#lost;
    await this.#track(this.#client.query(script));
  }

  /** Lets go of it once everything under way is answered. */
  async close(): Promise<void> {
    if (this.#lost) return;
    while (this.#unanswered > 0) await new Promise((resolve) => setTimeout(resolve, 1));
    this.#lost = new ConnectionLost('it was closed');
    clearInterval(this.#watch);
    await this.#client.end().catch(() => undefined);
  }

  /** Lets go of it now; what is under way fails with ConnectionLost. */
  destroy(cause: string, isSilent = false): void {
    if (this.#lost) return;
    this.#lost = new ConnectionLost(cause, isSilent);
    clearInterval(this.#watch);
    (this.#client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  }

  #send({ name, text, values }: { name?: string; text: string; values: Values }): Promise<QueryArrayResult> {
    if (this.#lost) return Promise.reject(this.#lost);
    return this.#track(
      this.#client.query({
        ...(name !== undefined && { name }),
        text: numberPlaceholders(text),
        values: values as unknown[],
        rowMode: 'array',
      }),
    );
  }

  /** The name a statement is prepared under; the one used longest ago gives way. */
  #prepare(sql: string): string {
    const known = this.#prepared.get(sql);
    this.#prepared.delete(sql);
    const name = known ?? `s${++this.#statements}`;
    this.#prepared.set(sql, name);
    if (this.#prepared.size > PREPARED_MAX) {
      const [oldest, itsName] = this.#prepared.entries().next().value!;
      this.#prepared.delete(oldest);
      void this.#track(this.#client.query(`DEALLOCATE ${itsName}`)).catch(() => undefined);
    }
    return name;
  }

  async #track<T>(answer: Promise<T>): Promise<T> {
    if (this.#unanswered++ === 0) this.#heardAt = performance.now();
    this.#watch ??= setInterval(() => this.#checkSilence(), SILENCE_CHECK_MS).unref();
    try {
      return await answer;
    } catch (fault) {
      // The driver tells of the end of a session before its socket ends; nobody may be sent there in between.
      if (isLoss(fault)) this.destroy(reasonOf(fault));
      throw this.#lost ?? fault;
    } finally {
      this.#unanswered--;
      this.#heardAt = performance.now();
    }
  }

  #checkSilence(): void {
    if (this.#unanswered > 0 && performance.now() - this.#heardAt > this.#silenceMs)
      this.destroy(`no answer within ${this.#silenceMs} ms`, true);
  }
}

/** The address with the settings of the session. What the address says itself comes before, so that ours hold; the driver would take its alone. */
function addSession(url: string, name: string, session: ConnectionOptions['session']): string {
  const address = new URL(url);
  const given = address.searchParams.get('options') ?? '';
  address.searchParams.set(
    'options',
    [given, ...Object.entries(session).map(([key, value]) => `-c ${key}=${value}`)].join(' ').trim(),
  );
  address.searchParams.set('application_name', name);
  return address.href;
}

/** SQLSTATE of a statement that took longer than it may. */
export const CANCELED = '57014';

/** SQLSTATE of a fault the server reported. */
export const sqlStateOf = (fault: unknown): string | undefined =>
  fault instanceof DatabaseError ? fault.code : undefined;

/** In the words of the driver or the server, none of which has the password. A name with several addresses has them one level down. */
export const reasonOf = (fault: unknown): string => {
  if (fault instanceof ConnectionLost) return fault.cause;
  return String(fault instanceof AggregateError ? fault.errors[0] : fault).replace(/^\w*error: /i, '');
};

/** Connection exceptions, shutdown and crash of the server; and everything that did not come from the server. */
function isLoss(fault: unknown): boolean {
  const state = sqlStateOf(fault);
  return state === undefined
    ? !(fault instanceof TypeError || fault instanceof Refusal)
    : /^(08|57P0[1-5]|25P0[34])/.test(state);
}

const numbered = new Map<string, string>();
const NUMBERED_MAX = 4096;

/** `?` of the shared SQL into `$1`, `$2`, …, and `?1` into `$1`; no name or text in our statements has a question mark. */
function numberPlaceholders(sql: string): string {
  let text = numbered.get(sql);
  if (text === undefined) {
    let count = 0;
    text = sql.replaceAll(/\?(\d?)/g, (_, place: string) => `$${place || ++count}`);
    if (numbered.size >= NUMBERED_MAX) numbered.clear();
    numbered.set(sql, text);
  }
  return text;
}
