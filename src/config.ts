/** Every setting: variable, default, unit, bounds and meaning. `npm run generate` makes docs/configuration.md of it. */
import { isIP } from 'node:net';
import { Refusal } from './errors.ts';

interface Setting<T> {
  readonly variable: string;
  readonly default: T;
  /** undefined when the text is not valid. */
  readonly parse: (text: string) => T | undefined;
  /** What `parse` takes, in words. */
  readonly form: string;
  /** Its value can hold a password: it is not repeated in messages, and `variable`_FILE may name a file with it. */
  readonly secret?: true;
}

function wholeNumber(variable: string, defaultValue: number, [least, most]: [number, number]): Setting<number> {
  const parse = (text: string): number | undefined =>
    /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined;
  return { variable, default: defaultValue, parse, form: `a whole number from ${least} to ${most}` };
}

function choice<T extends string>(variable: string, defaultValue: T, choices: readonly T[]): Setting<T> {
  const parse = (text: string): T | undefined => choices.find((word) => word === text);
  return { variable, default: defaultValue, parse, form: choices.join(', ') };
}

function anyText(variable: string, defaultValue: string): Setting<string> {
  const parse = (given: string): string | undefined => given || undefined;
  return { variable, default: defaultValue, parse, form: 'a text that is not empty' };
}

function databaseAddress(variable: string): Setting<string> {
  const parse = (url: string): string | undefined => {
    const [, before = '', hosts = '', after = ''] =
      /^(postgres(?:ql)?:\/\/(?:[^\s/?#]*@)?)([^\s/?#]*)(\S*)$/.exec(url) ?? [];
    const urls = hosts.split(',').map((host) => before + host + after);
    const isForm = before !== '' && urls.every((one) => URL.canParse(one)) && !/^,|,,|,$/.test(hosts);
    const wanted = isForm ? new URL(urls[0]!).searchParams.get('target_session_attrs') : '';
    // The service writes, so it never uses another.
    return wanted === null || ['read-write', 'primary'].includes(wanted) ? url : undefined;
  };
  const form =
    'an address such as postgres://user:password@host:5432/database, or with several servers host:5432,other:5432 and ' +
    'no target_session_attrs but read-write or primary';
  return { variable, default: '', parse, form, secret: true };
}

/** Scheme, host and port, without a path. */
function origin(variable: string): Setting<string> {
  const parse = (url: string): string | undefined =>
    /^https?:\/\/[^\s/?#@]+$/.test(url) && URL.canParse(url) ? url : undefined;
  return { variable, default: '', parse, form: 'an address without a path, such as https://pims.example.com' };
}

function networks(variable: string): Setting<readonly string[]> {
  const parse = (list: string): string[] | undefined => {
    const words = list.split(',').map((word) => word.trim());
    return words.every(isNetwork) ? words : undefined;
  };
  const form = 'addresses or networks separated by commas, such as 127.0.0.1, 10.0.0.0/8';
  return { variable, default: [], parse, form };
}

/** An IP address without a zone, or one with the length of a prefix: `::1`, `10.0.0.0/8`. */
function isNetwork(word: string): boolean {
  const [, address = '', bits = '0'] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(word) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(bits) <= (version === 6 ? 128 : 32);
}

const MIB = 1024 * 1024;

export const SETTINGS = {
  data: {
    ...anyText('STOREROOM_DATA', './data'),
    meaning: 'Folder of the embedded store. It is made if it does not exist.',
  },
  databaseUrl: {
    ...databaseAddress('STOREROOM_DATABASE_URL'),
    meaning:
      'Address of a PostgreSQL database. If it is set, it is used instead of the embedded store. Of several servers ' +
      'with commas between them the primary is used, also after another one was promoted. STOREROOM_DATABASE_URL_FILE ' +
      'names a file with it instead.',
  },
  databaseConnections: {
    ...wholeNumber('STOREROOM_DATABASE_CONNECTIONS', 4, [1, 100]),
    meaning:
      'Connections to PostgreSQL for each of: reads by key, short queries, long queries, writes. A node opens four more.',
  },
  port: { ...wholeNumber('STOREROOM_PORT', 8080, [0, 65_535]), meaning: 'Port to listen on. 0 takes a free port.' },
  host: {
    ...anyText('STOREROOM_HOST', '127.0.0.1'),
    meaning: 'Address to listen on. Use any but a loopback address only behind a proxy that speaks TLS.',
  },
  publicUrl: {
    ...origin('STOREROOM_PUBLIC_URL'),
    meaning:
      'Address that people use to reach the service, for links to the dashboard. Not set: links have no host in ' +
      'answers of the dashboard, and the address the service last listened on when a command prints them.',
  },
  trustedProxies: {
    ...networks('STOREROOM_TRUSTED_PROXIES'),
    meaning: 'Proxies in front of the service whose X-Forwarded-For and X-Forwarded-Proto are trusted.',
  },
  demo: {
    ...choice('STOREROOM_DEMO', 'on', ['on', 'off']),
    meaning: 'Whether `serve` makes the demo tenant in an empty data folder. It never makes one in PostgreSQL.',
  },
  logLevel: {
    ...choice('STOREROOM_LOG_LEVEL', 'info', ['debug', 'info', 'warn', 'error']),
    meaning: 'What is logged. `debug` adds one line a request. Credentials and query strings are never logged.',
  },
  metrics: {
    ...choice('STOREROOM_METRICS', 'on', ['on', 'off']),
    meaning: 'Whether /metrics answers. It names operations and statuses, never tenants.',
  },
  maxReturnDefault: {
    ...wholeNumber('STOREROOM_MAX_RETURN_DEFAULT', 500, [1, 100_000]),
    meaning: 'Records a query returns when it sends no maxReturn.',
  },
  maxReturnMost: {
    ...wholeNumber('STOREROOM_MAX_RETURN_MOST', 5000, [1, 100_000]),
    meaning: 'Most records a query returns.',
  },
  pageBytesMost: {
    ...wholeNumber('STOREROOM_PAGE_BYTES_MOST', 4 * 1024 * 1024, [65_536, 67_108_864]),
    meaning: 'Most bytes of records a query returns. A page with one record may be larger.',
  },
  lookupRecordsMost: {
    ...wholeNumber('STOREROOM_LOOKUP_RECORDS_MOST', 1000, [1, 10_000]),
    meaning: 'Most orders the lookup by storefront number returns. A number with more is refused.',
  },
  queryBudgetMs: {
    ...wholeNumber('STOREROOM_QUERY_BUDGET_MS', 2000, [10, 60_000]),
    meaning: 'Milliseconds a query may take before it is refused.',
  },
  queryThreads: {
    ...wholeNumber('STOREROOM_QUERY_THREADS', 2, [1, 64]),
    meaning: 'Threads for long queries of the embedded store.',
  },
  queriesRunningMost: {
    ...wholeNumber('STOREROOM_QUERIES_RUNNING_MOST', 8, [1, 1000]),
    meaning: 'Long queries of a tenant that run at the same time, if there are threads or connections for them.',
  },
  queriesWaitingMost: {
    ...wholeNumber('STOREROOM_QUERIES_WAITING_MOST', 64, [1, 10_000]),
    meaning: 'Long queries of a tenant that wait for their turn. More are answered 429.',
  },
  openTenantsMost: {
    ...wholeNumber('STOREROOM_OPEN_TENANTS_MOST', 0, [0, 100_000]),
    meaning:
      'Tenants whose files the embedded store has open at the same time. More are served too, and slower. 0: as many ' +
      'as a quarter of the memory and half of the file handles allow, at most 4,000.',
  },
  idempotencyHours: {
    ...wholeNumber('STOREROOM_IDEMPOTENCY_HOURS', 24, [24, 8760]),
    meaning: 'Hours an Idempotency-Key is kept.',
  },
  requestLogDays: {
    ...wholeNumber('STOREROOM_REQUEST_LOG_DAYS', 30, [1, 365]),
    meaning: 'Days the request log is kept.',
  },
  requestLogMb: {
    ...wholeNumber('STOREROOM_REQUEST_LOG_MB', 256, [1, 1_000_000]),
    meaning: 'Megabytes (2^20 bytes) the request log keeps of a tenant. Beyond it the oldest requests go first.',
  },
  requestLogRate: {
    ...wholeNumber('STOREROOM_REQUEST_LOG_RATE', 1000, [1, 1_000_000]),
    meaning:
      'Requests of a tenant that a node logs in a second, ten times as many in a burst. The rest is only counted.',
  },
  diskFreeMb: {
    ...wholeNumber('STOREROOM_DISK_FREE_MB', 1024, [0, 999_999_999]),
    meaning: 'Free megabytes of the disk of the embedded store below which the request log stops until there are more.',
  },
  diskFreePercent: {
    ...wholeNumber('STOREROOM_DISK_FREE_PERCENT', 5, [0, 100]),
    meaning: 'The same as a part of the disk. The smaller of both counts, but at least 64 MB.',
  },
  readyFreeMb: {
    ...wholeNumber('STOREROOM_READY_FREE_MB', 64, [0, 999_999_999]),
    meaning: 'Free megabytes of the disk of the embedded store below which /readyz answers 503.',
  },
  backupDir: {
    ...anyText('STOREROOM_BACKUP_DIR', ''),
    meaning:
      'Folder into which the service backs up the embedded store by itself, in a separate folder for each store. Not ' +
      'set: it makes none. PostgreSQL has its own tools.',
  },
  backupHours: {
    ...wholeNumber('STOREROOM_BACKUP_HOURS', 24, [1, 8760]),
    meaning: 'Hours from one scheduled backup to the next.',
  },
  backupKeep: {
    ...wholeNumber('STOREROOM_BACKUP_KEEP', 7, [1, 1000]),
    meaning: 'Scheduled backups that are kept. The oldest goes when a new one was verified.',
  },
  inFlightMost: {
    ...wholeNumber('STOREROOM_IN_FLIGHT_MOST', 1024, [1, 100_000]),
    meaning: 'Most calls in flight at the same time. More are answered 503.',
  },
  tenantInFlightMost: {
    ...wholeNumber('STOREROOM_TENANT_IN_FLIGHT_MOST', 256, [1, 100_000]),
    meaning:
      'Calls in flight a tenant always may have. Those beyond are answered 429 when three quarters of all are taken.',
  },
  trafficBytesMost: {
    ...wholeNumber('STOREROOM_TRAFFIC_BYTES_MOST', 96 * MIB, [MIB, 512 * MIB]),
    meaning: 'Memory in bytes for request bodies and unsent answers; one tenant may use half of it.',
  },
  keepAliveMs: {
    ...wholeNumber('STOREROOM_KEEP_ALIVE_MS', 72_000, [1000, 600_000]),
    meaning: 'Milliseconds an idle connection is kept open. Set it above the idle timeout of the load balancer.',
  },
  drainMs: {
    ...wholeNumber('STOREROOM_DRAIN_MS', 0, [0, 60_000]),
    meaning:
      'Milliseconds between "not ready" and closing the listener when the service stops, for load balancers to notice.',
  },
} as const;

/** What `storeroom mcp` calls the service by. They are no settings of the service. */
export const CLIENT_VARIABLES = [
  'STOREROOM_URL',
  'STOREROOM_TEAM_ID',
  'STOREROOM_API_ID',
  'STOREROOM_API_SECRET',
] as const;

type ValueOf<S> = S extends Setting<infer T> ? T : never;
export type Config = { readonly [Name in keyof typeof SETTINGS]: ValueOf<(typeof SETTINGS)[Name]> };
export type Environment = Readonly<Record<string, string | undefined>>;
/** Where a value came from. */
type SettingSource = 'default' | 'environment' | 'command line';

/** A database address without its password: `postgres://user:…@host/database`. */
export const hidePassword = (url: string): string =>
  url.replace(/(?<=:\/\/[^:@/]*:)[^@]*(?=@)|(?<=[?&]password=)[^&]*/g, '…');

/**
 * The settings in force: command line before environment before default. One WRONG_SETTING names every mistake.
 * `unknown` lists STOREROOM_ variables that are not settings. Example: `parseConfig({ STOREROOM_PORT: '9000' },
 * {}).config.port` is 9000.
 */
export function parseConfig(
  environment: Environment,
  commandLine: Environment,
): { config: Config; sources: Readonly<Record<keyof Config, SettingSource>>; unknown: string[] } {
  const mistakes: string[] = [];
  const config: Record<string, unknown> = {};
  const sources: Record<string, SettingSource> = {};
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const { variable, parse, form, secret } = setting;
    // An empty variable is as good as none.
    const given = commandLine[variable] ?? (environment[variable] || undefined);
    const value = given === undefined ? setting.default : parse(given);
    if (value === undefined) mistakes.push(`${variable} must be ${form}${secret ? '' : `, not '${given}'`}.`);
    config[name] = value;
    sources[name] =
      commandLine[variable] !== undefined ? 'command line' : given === undefined ? 'default' : 'environment';
  }
  if (mistakes.length > 0) throw new Refusal('WRONG_SETTING', mistakes.join('\n'));
  const known = new Set<string>([...Object.values(SETTINGS).map(({ variable }) => variable), ...CLIENT_VARIABLES]);
  const unknown = Object.keys(environment).filter((name) => /^STOREROOM_(?!TEST_)/.test(name) && !known.has(name));
  return { config: config as Config, sources: sources as Record<keyof Config, SettingSource>, unknown };
}
