/** A connection to PostgreSQL. It is pipelined, bounds its prepared statements, and detects a silent server. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Client, DatabaseError, Query, types as parsers, type CustomTypesConfig, type QueryArrayResult } from 'pg';
import type { Clock } from '../../../clock.ts';
import { Refusal } from '../../../errors.ts';
import type { Bound, Row } from '../../sql/writing.ts';
import { Copy } from './copy.ts';
import { makeSilence } from './silence.ts';

export interface ConnectionOptions {
  /** The name in pg_stat_activity. */
  readonly name: string;
  /** Settings of the session, such as `statement_timeout`. */
  readonly session: Readonly<Record<string, string | number>>;
  /** The time without a complete response, while one is due, after which the server counts as gone. */
  readonly silenceMs: number;
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
}

/** Values of a statement; lists become arrays. */
export type StatementValues = readonly (Bound | readonly (string | number | Uint8Array | null)[])[];

/**
 * Maximum number of prepared statements. Each uses memory of the server's process, and each tenant has separate ones.
 */
const PREPARED_MAX = 600;
/** A connection is replaced after preparing this many, because a server process never frees its cache of tables. */
const STATEMENTS_PER_LIFE = 5000;
export const IS_STANDBY = 'it is a standby and accepts no writes';

/** The connection was lost or fell silent, or none could be opened. The outcome of running statements is unknown. */
export class ConnectionLost extends Refusal {
  /** The reason, for the operator. Callers learn only that the store is unavailable. */
  override readonly cause: string;
  /** Whether the server counts as lost, and not only the connection. */
  readonly isSilent: boolean;

  constructor(cause: string, isSilent = false) {
    super('STORE_UNAVAILABLE', undefined, { retryAfterSeconds: 1 });
    this.cause = cause;
    this.isSilent = isSilent;
  }
}

// Counters and counts stay far below 2^53.
const types: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === parsers.builtins.INT8 ? Number : parsers.getTypeParser(oid, format)),
};

export class Connection {
  readonly #client: Client;
  readonly #silence: ReturnType<typeof makeSilence>;
  readonly #prepared = new Map<string, string>();
  #statements = 0;
  #unanswered = 0;
  /** The promise of a close that is under way. It resolves when every statement is answered. */
  #idle: PromiseWithResolvers<void> | undefined;
  #lost: ConnectionLost | undefined;
  #pid: Promise<number> | undefined;
  #sentFault: unknown;
  #isCorked = false;
  #isStandby = false;

  private constructor(client: Client, { silenceMs, clock }: ConnectionOptions) {
    this.#client = client;
    const giveUp = (): void => this.destroy(`no answer within ${silenceMs} ms`, true);
    this.#silence = makeSilence(clock, silenceMs, giveUp);
    // Without a listener the end of an idle connection would end the process.
    client.on('error', (fault) => this.destroy(fault.message));
    client.on('end', () => this.destroy('the connection ended'));
    // The server reports its role in the first packet, and an unconfirmed commit in a warning.
    wireOf(client).on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (parameterName === 'in_hot_standby') this.#isStandby = parameterValue === 'on';
    });
    client.on('notice', ({ routine }) => {
      // The wait for a standby was canceled, so the transaction is on this server alone.
      if (routine === 'SyncRepWaitForLSN') this.destroy('no standby has confirmed a transaction', true);
    });
  }

  /**
   * Throws the fault of the driver or the server, and ConnectionLost for a standby. `onBegun` receives the connection
   * before it is open, and may destroy it.
   */
  static async open(options: ConnectionOptions, url: string, onBegun?: (one: Connection) => void): Promise<Connection> {
    const { name, session, connectTimeoutMs, clock } = options;
    const settings = {
      TimeZone: 'UTC',
      jit: 'off',
      max_parallel_workers_per_gather: 0,
      client_min_messages: 'warning',
      ...session,
    };
    const client = new Client({
      connectionString: addSession(url, name, settings),
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      pipeline: true,
      types,
    });
    const connection = new Connection(client, options);
    onBegun?.(connection);
    const giveUp = () => connection.#stream.destroy(new Error('timeout expired'));
    const connecting = makeSilence(clock, connectTimeoutMs, giveUp);
    connecting.restartSilence(true);
    try {
      await client.connect();
      if (connection.#isStandby) throw new ConnectionLost(IS_STANDBY);
      return connection;
    } catch (fault) {
      connection.destroy('the connection could not be opened');
      throw fault;
    } finally {
      connecting.close();
    }
  }

  /** Whether the connection accepts another statement. At the end of its life it only finishes the running ones. */
  get isOpen(): boolean {
    return this.#lost === undefined && this.#statements < STATEMENTS_PER_LIFE;
  }

  /** Whether no statement is running. */
  get isIdle(): boolean {
    return this.#unanswered === 0;
  }

  /** Runs a prepared statement. Each `?` is a value, and rows are arrays. */
  async query<R extends Row>(sql: string, values: StatementValues = []): Promise<R[]> {
    return (await this.#runPrepared(sql, values)).rows as unknown as R[];
  }

  /** Runs a prepared statement and passes on each row as it arrives. */
  async queryEach<R extends Row>(sql: string, values: StatementValues, take: (row: R) => void): Promise<void> {
    await this.#submit(new Query(this.#describeStatement(sql, values)).on('row', take));
  }

  /** Restarts the silence, because a row of a statement without a time limit has arrived. */
  hear() {
    this.#silence.restartSilence(true);
  }

  /** Receives the notices of a channel. `onEnd` runs when the connection ends. */
  async listen(channel: string, onNotice: (text: string) => void, onEnd: () => void): Promise<void> {
    this.#client.on('notification', ({ payload = '' }) => onNotice(payload));
    await this.execute(`LISTEN ${channel}`);
    this.#client.once('end', onEnd);
  }

  /** Returns the ID of the server's process. The handshake may have named the process of a pooler instead. */
  serverPid(): Promise<number> {
    return (this.#pid ??= this.query<[number]>('SELECT pg_backend_pid()').then(([row]) => row![0]));
  }

  /** Stops reading, so that further data of the server stays in the network. */
  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  /** Begins a transaction. The statements after it are sent without waiting, and fail with it. */
  beginTransaction(): void {
    this.#sentFault = undefined;
    this.execute('BEGIN').catch(() => undefined);
  }

  /** Sends a statement of a transaction without waiting. The commit throws its fault. */
  sendStatement(sql: string, values: StatementValues): void {
    this.#runPrepared(sql, values).catch((fault: unknown) => (this.#sentFault ??= fault));
  }

  /** Sends new rows for a table, like `sendStatement`. */
  copy(table: string, names: readonly string[], rows: readonly (readonly Bound[])[]): void {
    this.#submit(new Copy(table, names, rows)).catch((fault: unknown) => (this.#sentFault ??= fault));
  }

  /** The fault of the first statement of the transaction that failed. All statements after it failed with it. */
  get sentFault(): unknown {
    return this.#sentFault;
  }

  /** Commits. PostgreSQL answers COMMIT with ROLLBACK when a statement before it failed. */
  async commitTransaction(): Promise<void> {
    const { command } = await this.#runPrepared('COMMIT', []);
    if (command !== 'COMMIT') throw this.#sentFault ?? new Error('The transaction had failed and was rolled back.');
  }

  async execute(statement: string): Promise<void> {
    await this.#track(() => this.#client.query(statement));
  }

  /** Runs the statements of a script one by one, because Citus accepts one in a message. Throws the first fault. */
  async runStatements(script: string): Promise<void> {
    const outcomes = await Promise.allSettled(script.match(STATEMENT)!.map((statement) => this.execute(statement)));
    const failed = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (failed) throw failed.reason;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Closes the connection once all running statements are answered. */
  async close(): Promise<void> {
    if (this.#lost) return;
    if (this.#unanswered > 0) await (this.#idle ??= Promise.withResolvers<void>()).promise;
    this.#lost = new ConnectionLost('the connection was closed');
    this.#silence.close();
    await this.#client.end().catch(() => undefined);
  }

  /** Closes the connection now. Running statements fail with ConnectionLost. */
  destroy(cause: string, isSilent = false): void {
    if (this.#lost) return;
    this.#lost = new ConnectionLost(cause, isSilent);
    this.#silence.close();
    this.#stream.destroy();
  }

  get #stream(): Socket {
    return wireOf(this.#client).stream;
  }

  /** Sends the statements of one tick in one packet. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#stream.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.#stream.uncork();
    });
  }

  #runPrepared(sql: string, values: StatementValues): Promise<QueryArrayResult> {
    return this.#track(() => this.#client.query(this.#describeStatement(sql, values)));
  }

  #describeStatement(sql: string, values: StatementValues) {
    const text = numberPlaceholders(sql);
    return { name: this.#prepare(sql), text, values: values as unknown[], rowMode: 'array' as const };
  }

  async #submit(query: Query): Promise<void> {
    await this.#track(() => once(this.#client.query(query), 'end'));
  }

  /** Returns the name of the prepared statement. Above the maximum, deallocates the one used longest ago. */
  #prepare(sql: string): string {
    const known = this.#prepared.get(sql);
    this.#prepared.delete(sql);
    const name = known ?? `s${++this.#statements}`;
    this.#prepared.set(sql, name);
    if (this.#prepared.size > PREPARED_MAX) {
      const [oldest, itsName] = this.#prepared.entries().next().value!;
      this.#prepared.delete(oldest);
      this.execute(`DEALLOCATE ${itsName}`).catch(() => undefined);
    }
    return name;
  }

  /** Sends a statement, unless the connection was lost, and waits for the answer. */
  async #track<T>(send: () => Promise<T>): Promise<T> {
    if (this.#lost) throw this.#lost;
    if (this.#unanswered++ === 0) this.#silence.restartSilence(true);
    this.#cork();
    try {
      const given = await send();
      if (this.#lost) throw this.#lost;
      return given;
    } catch (fault) {
      // The driver reports the end of a session before its socket ends; no statement may be sent in between.
      if (isLoss(fault)) this.destroy(reasonOf(fault));
      throw this.#lost ?? fault;
    } finally {
      this.#unanswered--;
      this.#silence.restartSilence(this.#unanswered > 0);
      if (this.#unanswered === 0) this.#idle?.resolve();
    }
  }
}

/** The driver's connection, which its types leave out. */
interface Wire {
  readonly stream: Socket;
  on(name: 'parameterStatus', take: (status: { parameterName: string; parameterValue: string }) => void): void;
}

const wireOf = (client: Client): Wire => (client as unknown as { connection: Wire }).connection;

/** Adds the settings of the session to the address. Options of the address come first, so that ours override them. */
function addSession(url: string, name: string, session: ConnectionOptions['session']): string {
  const address = new URL(url);
  const given = address.searchParams.get('options') ?? '';
  const options = [given, ...Object.entries(session).map(([key, value]) => `-c ${key}=${value}`)];
  address.searchParams.set('options', options.join(' ').trim());
  address.searchParams.set('application_name', name);
  return address.href;
}

/** SQLSTATE of a canceled statement, even one canceled by its time limit. */
export const CANCELED = '57014';

/** Returns the SQLSTATE of a fault that the server reported. */
export const sqlStateOf = (fault: unknown): string | undefined =>
  fault instanceof DatabaseError ? fault.code : undefined;

/** Returns the message of the driver or the server, without the password. Of several addresses, the first counts. */
export const reasonOf = (fault: unknown): string => {
  if (fault instanceof ConnectionLost) return fault.cause;
  return String(fault instanceof AggregateError ? fault.errors[0] : fault).replace(/^\w*error: /i, '');
};

/** Returns whether a fault means a lost connection, such as a stopping server or a fault not sent by the server. */
function isLoss(fault: unknown): boolean {
  const state = sqlStateOf(fault);
  return state === undefined
    ? !(fault instanceof TypeError || fault instanceof Refusal)
    : /^(08|57P0[1-5]|25P0[34])/.test(state);
}

/** A statement of a script. A semicolon in a comment, in quotes or in a `$$` body does not end it. */
const STATEMENT = /(?:--[^\n]*|'[^']*'|"[^"]*"|(\$\w*\$)[^]*?\1|[^;])+/g;

const numbered = new Map<string, string>();
const NUMBERED_MAX = 4096;

/** Turns `?` into `$1`, `$2`, …, and `?1` into `$1`. No name or text in our statements has a question mark. */
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
