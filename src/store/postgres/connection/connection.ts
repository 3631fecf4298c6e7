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

/** Sends statements and waits for their answers. Gives up a server that is silent while one is due. */
function makeSender(client: Client, { silenceMs, clock }: ConnectionOptions) {
  let unanswered = 0;
  /** The promise of a close that is under way. It resolves when every statement is answered. */
  let idle: PromiseWithResolvers<void> | undefined;
  let lost: ConnectionLost | undefined;
  let isCorked = false;
  const findStream = () => wireOf(client).stream;
  const silence = makeSilence(clock, silenceMs, () => sender.destroy(`no answer within ${silenceMs} ms`, true));
  /** Sends the statements of one tick in one packet. */
  const cork = () => {
    if (isCorked) return;
    isCorked = true;
    findStream().cork();
    process.nextTick(() => {
      isCorked = false;
      findStream().uncork();
    });
  };
  const sender = {
    get isLost() {
      return lost !== undefined;
    },
    /** Whether no statement is running. */
    get isIdle() {
      return unanswered === 0;
    },
    /** Restarts the silence, because a row of a statement without a time limit has arrived. */
    hear: () => silence.restartSilence(true),
    /** Stops reading, so that further data of the server stays in the network. */
    pause: () => findStream().pause(),
    resume: () => findStream().resume(),
    /** Sends a statement, unless the connection was lost, and waits for the answer. */
    async track<T>(send: () => Promise<T>): Promise<T> {
      if (lost) throw lost;
      if (unanswered++ === 0) silence.restartSilence(true);
      cork();
      try {
        const given = await send();
        if (lost) throw lost;
        return given;
      } catch (fault) {
        // The driver reports the end of a session before its socket ends; no statement may be sent in between.
        if (isLoss(fault)) sender.destroy(reasonOf(fault));
        throw lost ?? fault;
      } finally {
        unanswered--;
        silence.restartSilence(unanswered > 0);
        if (unanswered === 0) idle?.resolve();
      }
    },
    /** Closes the connection once all running statements are answered. */
    async close() {
      if (lost) return;
      if (unanswered > 0) await (idle ??= Promise.withResolvers<void>()).promise;
      lost = new ConnectionLost('the connection was closed');
      silence.close();
      await client.end().catch(() => undefined);
    },
    /** Closes the connection now. Running statements fail with ConnectionLost. */
    destroy(cause: string, isSilent = false) {
      if (lost) return;
      lost = new ConnectionLost(cause, isSilent);
      silence.close();
      findStream().destroy();
    },
  };
  return sender;
}

/** Names the prepared statements of a connection. Above the maximum, deallocates the one used longest ago. */
function makeNames(deallocate: (name: string) => void) {
  const names = new Map<string, string>();
  let count = 0;
  return {
    areWorn: () => count >= STATEMENTS_PER_LIFE,
    nameOf(sql: string): string {
      const name = names.get(sql) ?? `s${++count}`;
      names.delete(sql);
      names.set(sql, name);
      if (names.size > PREPARED_MAX) {
        const [oldest, itsName] = names.entries().next().value!;
        names.delete(oldest);
        deallocate(itsName);
      }
      return name;
    },
  };
}

export type Connection = ReturnType<typeof makeConnection>;

function makeConnection(client: Client, options: ConnectionOptions) {
  const sender = makeSender(client, options);
  const { hear, pause, resume } = sender;
  let pid: Promise<number> | undefined;
  let sentFault: unknown;
  const execute = async (text: string): Promise<void> => void (await sender.track(() => client.query(text)));
  const statements = makeNames((name) => void execute(`DEALLOCATE ${name}`).catch(() => undefined));
  const describeStatement = (sql: string, values: StatementValues) => {
    const text = numberPlaceholders(sql);
    return { name: statements.nameOf(sql), text, values: values as unknown[], rowMode: 'array' as const };
  };
  const runPrepared = (sql: string, values: StatementValues): Promise<QueryArrayResult> =>
    sender.track(() => client.query(describeStatement(sql, values)));
  const submit = (query: Query): Promise<unknown> => sender.track(() => once(client.query(query), 'end'));
  /** Runs a prepared statement. Each `?` is a value, and rows are arrays. */
  const query = async <R extends Row>(sql: string, values: StatementValues = []): Promise<R[]> =>
    (await runPrepared(sql, values)).rows as unknown as R[];
  const noteFault = (fault: unknown) => void (sentFault ??= fault);
  return {
    hear,
    pause,
    resume,
    execute,
    query,
    close: () => sender.close(),
    destroy: (cause: string, isSilent?: boolean) => sender.destroy(cause, isSilent),
    [Symbol.asyncDispose]: () => sender.close(),
    get isIdle() {
      return sender.isIdle;
    },
    /** Whether the connection accepts another statement. At the end of its life it only finishes the running ones. */
    get isOpen() {
      return !sender.isLost && !statements.areWorn();
    },
    /** Runs a prepared statement and passes on each row as it arrives. */
    async queryEach<R extends Row>(sql: string, values: StatementValues, take: (row: R) => void): Promise<void> {
      await submit(new Query(describeStatement(sql, values)).on('row', take));
    },
    /** Receives the notices of a channel. `onEnd` runs when the connection ends. */
    async listen(channel: string, onNotice: (text: string) => void, onEnd: () => void): Promise<void> {
      client.on('notification', ({ payload = '' }) => onNotice(payload));
      await execute(`LISTEN ${channel}`);
      client.once('end', onEnd);
    },
    /** Returns the ID of the server's process. The handshake may have named the process of a pooler instead. */
    serverPid: () => (pid ??= query<[number]>('SELECT pg_backend_pid()').then(([row]) => row![0])),
    /** Begins a transaction. The statements after it are sent without waiting, and fail with it. */
    beginTransaction() {
      sentFault = undefined;
      execute('BEGIN').catch(() => undefined);
    },
    /** Sends a statement of a transaction without waiting. The commit throws its fault. */
    sendStatement: (sql: string, values: StatementValues) => void runPrepared(sql, values).catch(noteFault),
    /** Sends new rows for a table, like `sendStatement`. */
    copy: (table: string, names: readonly string[], rows: readonly (readonly Bound[])[]) =>
      void submit(new Copy(table, names, rows)).catch(noteFault),
    /** The fault of the first statement of the transaction that failed. All statements after it failed with it. */
    get sentFault() {
      return sentFault;
    },
    /** Commits. PostgreSQL answers COMMIT with ROLLBACK when a statement before it failed. */
    async commitTransaction() {
      const { command } = await runPrepared('COMMIT', []);
      if (command !== 'COMMIT') throw sentFault ?? new Error('The transaction had failed and was rolled back.');
    },
    /** Runs the statements of a script one by one, because Citus accepts one in a message. Throws the first fault. */
    async runStatements(script: string): Promise<void> {
      const outcomes = await Promise.allSettled(script.match(STATEMENT)!.map(execute));
      const failed = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
      if (failed) throw failed.reason;
    },
  };
}

/**
 * Opens a connection. Throws the fault of the driver or the server, and ConnectionLost for a standby. `onBegun` receives
 * the connection before it is open, and may destroy it.
 */
export async function openConnection(
  options: ConnectionOptions,
  url: string,
  onBegun?: (one: Connection) => void,
): Promise<Connection> {
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
  const connection = makeConnection(client, options);
  let isStandby = false;
  // Without a listener the end of an idle connection would end the process.
  client.on('error', (fault) => connection.destroy(fault.message));
  client.on('end', () => connection.destroy('the connection ended'));
  // The server reports its role in the first packet, and an unconfirmed commit in a warning.
  wireOf(client).on('parameterStatus', ({ parameterName, parameterValue }) => {
    if (parameterName === 'in_hot_standby') isStandby = parameterValue === 'on';
  });
  client.on('notice', ({ routine }) => {
    // The wait for a standby was canceled, so the transaction is on this server alone.
    if (routine === 'SyncRepWaitForLSN') connection.destroy('no standby has confirmed a transaction', true);
  });
  onBegun?.(connection);
  const giveUp = () => wireOf(client).stream.destroy(new Error('timeout expired'));
  const connecting = makeSilence(clock, connectTimeoutMs, giveUp);
  connecting.restartSilence(true);
  try {
    await client.connect();
    if (isStandby) throw new ConnectionLost(IS_STANDBY);
    return connection;
  } catch (fault) {
    connection.destroy('the connection could not be opened');
    throw fault;
  } finally {
    connecting.close();
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
