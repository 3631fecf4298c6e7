/** Every setting: variable, default, form and meaning. `npm run generate` writes docs/settings.md from it. */
import { isIP } from 'node:net';
import { CLIENT_VARIABLES } from '../mcp/src/options.ts';
import { Refusal } from './errors.ts';

interface Setting<T> {
  readonly variable: string;
  readonly default: T;
  /** Parses a text. Returns undefined if it is not valid. */
  readonly parse: (text: string) => T | undefined;
  /** The texts that `parse` accepts, in words. */
  readonly form: string;
  readonly meaning: string;
  /** The value can contain a password: messages do not repeat it, and `variable`_FILE may name a file that has it. */
  readonly secret?: true;
}

function wholeNumber(
  variable: string,
  defaultValue: number,
  [least, most]: [number, number],
  meaning: string,
): Setting<number> {
  return {
    variable,
    default: defaultValue,
    parse: (text) =>
      /^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined,
    form: `a whole number from ${least} to ${most}`,
    meaning,
  };
}

function choice<T extends string>(
  variable: string,
  defaultValue: T,
  choices: readonly T[],
  meaning: string,
): Setting<T> {
  return {
    variable,
    default: defaultValue,
    parse: (text) => choices.find((word) => word === text),
    form: choices.join(', '),
    meaning,
  };
}

function anyText(variable: string, defaultValue: string, meaning: string): Setting<string> {
  return {
    variable,
    default: defaultValue,
    parse: (given) => given || undefined,
    form: 'a non-empty text',
    meaning,
  };
}

function databaseAddress(variable: string, meaning: string): Setting<string> {
  const parseAddress = (url: string): string | undefined => {
    const [, before = '', hosts = '', after = ''] =
      /^(postgres(?:ql)?:\/\/(?:[^\s/?#]*@)?)([^\s/?#]*)(\S*)$/.exec(url) ?? [];
    const urls = hosts.split(',').map((host) => before + host + after);
    const isForm = before !== '' && urls.every((one) => URL.canParse(one)) && !/^,|,,|,$/.test(hosts);
    const wanted = isForm ? new URL(urls[0]!).searchParams.get('target_session_attrs') : '';
    // The service writes, so it never uses a read-only server.
    return wanted === null || ['read-write', 'primary'].includes(wanted) ? url : undefined;
  };
  const form =
    'an address such as postgres://user:password@host:5432/database, for several servers host:5432,other:5432; ' +
    'target_session_attrs can only be read-write or primary';
  return { variable, default: '', parse: parseAddress, form, meaning, secret: true };
}

/** Describes a setting that is a scheme, a host and a port, without a path. */
function origin(variable: string, meaning: string): Setting<string> {
  return {
    variable,
    default: '',
    parse: (url) => (/^https?:\/\/[^\s/?#@]+$/.test(url) && URL.canParse(url) ? url : undefined),
    form: 'an address without a path, such as https://pims.example.com',
    meaning,
  };
}

function networks(variable: string, meaning: string): Setting<readonly string[]> {
  const parseNetworks = (list: string): string[] | undefined => {
    const words = list.split(',').map((word) => word.trim());
    return words.every(isNetwork) ? words : undefined;
  };
  const form = 'addresses or networks separated by commas, such as 127.0.0.1, 10.0.0.0/8';
  return { variable, default: [], parse: parseNetworks, form, meaning };
}

/** Returns whether a word is an IP address without a zone, with or without a prefix length: `::1`, `10.0.0.0/8`. */
function isNetwork(word: string): boolean {
  const [, address = '', bits = '0'] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(word) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(bits) <= (version === 6 ? 128 : 32);
}

const MIB = 1024 * 1024;

export const SETTINGS = {
  data: anyText('STOREROOM_DATA', './data', 'Folder of the embedded store. It is created if it does not exist.'),
  databaseUrl: databaseAddress(
    'STOREROOM_DATABASE_URL',
    'PostgreSQL database, used instead of the embedded store. Of several servers, the service uses the ' +
      'primary, also after a failover. STOREROOM_DATABASE_URL_FILE can name a file with the address.',
  ),
  databaseConnections: wholeNumber(
    'STOREROOM_DATABASE_CONNECTIONS',
    4,
    [1, 100],
    'Connections to PostgreSQL for each of: reads by key, short queries, long queries, writes. A node opens ' +
      'five more.',
  ),
  port: wholeNumber('STOREROOM_PORT', 8080, [0, 65_535], 'Port to listen on. 0 chooses a free port.'),
  host: anyText(
    'STOREROOM_HOST',
    '127.0.0.1',
    'Address to listen on. Use a loopback address unless a proxy terminates TLS.',
  ),
  publicUrl: origin(
    'STOREROOM_PUBLIC_URL',
    'Address at which people reach the service. The dashboard and /metrics answer only under this host name, ' +
      'localhost and IP addresses, and links begin with it. Without it, links in responses have no host, and ' +
      'links that a command prints have the address the service last listened on.',
  ),
  trustedProxies: networks(
    'STOREROOM_TRUSTED_PROXIES',
    'Proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted.',
  ),
  operatorTeam: anyText(
    'STOREROOM_OPERATOR_TEAM',
    '',
    'Team whose owners see the page Operate: health, backups, and the calls of every team. Without it, owners ' +
      'see the page only while there is a single team.',
  ),
  demo: choice(
    'STOREROOM_DEMO',
    'on',
    ['on', 'off'],
    'Whether `serve` creates the demo tenant in an embedded store without tenants.',
  ),
  create: choice(
    'STOREROOM_CREATE',
    'on',
    ['on', 'off', 'always'],
    'Whether the service may create a missing store. With `on`, it does not if STOREROOM_BACKUP_DIR has ' +
      'backups, because then a store was lost. With `off`, only `--create` creates one.',
  ),
  logLevel: choice(
    'STOREROOM_LOG_LEVEL',
    'info',
    ['debug', 'info', 'warn', 'error'],
    'Lowest level that is logged. `debug` adds a line for each request.',
  ),
  metrics: choice(
    'STOREROOM_METRICS',
    'on',
    ['on', 'off'],
    'Whether /metrics is served. It names operations and statuses, never tenants.',
  ),
  webhookPrivate: choice(
    'STOREROOM_WEBHOOK_PRIVATE',
    'off',
    ['off', 'on'],
    'Whether webhooks may call private addresses, and http: URLs. Whoever may add a webhook then reaches the ' +
      'network of the service.',
  ),
  maxReturnDefault: wholeNumber(
    'STOREROOM_MAX_RETURN_DEFAULT',
    500,
    [1, 100_000],
    'Records that a query without maxReturn returns.',
  ),
  returnMax: wholeNumber('STOREROOM_RETURN_MAX', 5000, [1, 100_000], 'Maximum records that a query returns.'),
  pageBytesMax: wholeNumber(
    'STOREROOM_PAGE_BYTES_MAX',
    4 * 1024 * 1024,
    [65_536, 67_108_864],
    'Maximum bytes of records that a query returns. Only a single record can be larger.',
  ),
  lookupRecordsMax: wholeNumber(
    'STOREROOM_LOOKUP_RECORDS_MAX',
    1000,
    [1, 10_000],
    'Maximum orders of a storefront lookup. More get 422.',
  ),
  queryBudgetMs: wholeNumber(
    'STOREROOM_QUERY_BUDGET_MS',
    2000,
    [10, 60_000],
    'Milliseconds that a query may take before it gets QUERY_TOO_COSTLY.',
  ),
  queryThreads: wholeNumber('STOREROOM_QUERY_THREADS', 2, [1, 64], 'Threads for long queries of the embedded store.'),
  queriesRunningMax: wholeNumber(
    'STOREROOM_QUERIES_RUNNING_MAX',
    8,
    [1, 1000],
    'Maximum long queries of a tenant that run at once, if there are as many threads or connections.',
  ),
  queriesWaitingMax: wholeNumber(
    'STOREROOM_QUERIES_WAITING_MAX',
    64,
    [1, 10_000],
    'Maximum long queries of a tenant that wait for their turn. Further queries get 429.',
  ),
  openTenantsMax: wholeNumber(
    'STOREROOM_OPEN_TENANTS_MAX',
    0,
    [0, 100_000],
    'Tenants whose files the embedded store keeps open; others are opened on demand. 0 means a quarter of the ' +
      'memory and half of the file handles, at most 4,000.',
  ),
  idempotencyHours: wholeNumber(
    'STOREROOM_IDEMPOTENCY_HOURS',
    24,
    [24, 8760],
    'Hours that an Idempotency-Key is kept.',
  ),
  changesDays: wholeNumber('STOREROOM_CHANGES_DAYS', 30, [30, 3650], 'Days that the change feed keeps a change.'),
  requestLogDays: wholeNumber('STOREROOM_REQUEST_LOG_DAYS', 30, [1, 365], 'Days that the request log is kept.'),
  requestLogMb: wholeNumber(
    'STOREROOM_REQUEST_LOG_MB',
    256,
    [1, 1_000_000],
    'Maximum size of the request log of a tenant in MiB. The oldest requests are removed first.',
  ),
  requestLogRate: wholeNumber(
    'STOREROOM_REQUEST_LOG_RATE',
    1000,
    [1, 1_000_000],
    'Maximum requests of a tenant that a node logs per second; ten times as many in a burst. Others are only ' +
      'counted.',
  ),
  diskFreeMb: wholeNumber(
    'STOREROOM_DISK_FREE_MB',
    1024,
    [0, 999_999_999],
    'Free megabytes on the disk of the embedded store below which the request log stops.',
  ),
  diskFreePercent: wholeNumber(
    'STOREROOM_DISK_FREE_PERCENT',
    5,
    [0, 100],
    'The same as a percentage of the disk. The smaller of the two applies, but at least 64 MB.',
  ),
  readyFreeMb: wholeNumber(
    'STOREROOM_READY_FREE_MB',
    64,
    [0, 999_999_999],
    'Free megabytes on the disk of the embedded store below which /readyz returns 503.',
  ),
  backupDir: anyText(
    'STOREROOM_BACKUP_DIR',
    '',
    'Folder for scheduled backups of the embedded store, which no other store may use. If it is not set, no backups ' +
      'are made. For PostgreSQL, use its own tools.',
  ),
  backupHours: wholeNumber('STOREROOM_BACKUP_HOURS', 24, [1, 8760], 'Hours between two scheduled backups.'),
  backupKeep: wholeNumber(
    'STOREROOM_BACKUP_KEEP',
    7,
    [1, 1000],
    'Scheduled backups to keep. The oldest is removed after a new one is verified.',
  ),
  inFlightMax: wholeNumber(
    'STOREROOM_IN_FLIGHT_MAX',
    1024,
    [1, 100_000],
    'Maximum calls in flight. Further calls get 503.',
  ),
  tenantInFlightMax: wholeNumber(
    'STOREROOM_TENANT_IN_FLIGHT_MAX',
    256,
    [1, 100_000],
    'Calls of a tenant in flight that are accepted while more than 75 % of all places are taken, but at most half of ' +
      'the places that the node has then. Further calls get 429.',
  ),
  waitingMax: wholeNumber(
    'STOREROOM_WAITING_MAX',
    1000,
    [1, 100_000],
    'Maximum calls that wait for changes, beside those in flight. Further calls get 503.',
  ),
  tenantWaitingMax: wholeNumber(
    'STOREROOM_TENANT_WAITING_MAX',
    100,
    [1, 100_000],
    'Maximum calls of a tenant that wait for changes. Further calls get 429.',
  ),
  trafficBytesMax: wholeNumber(
    'STOREROOM_TRAFFIC_BYTES_MAX',
    96 * MIB,
    [MIB, 512 * MIB],
    'Bytes of memory for request bodies, and as many for unsent responses, of which one tenant may use half.',
  ),
  keepAliveMs: wholeNumber(
    'STOREROOM_KEEP_ALIVE_MS',
    72_000,
    [1000, 600_000],
    'Milliseconds that an idle connection is kept open. Keep it above the idle timeout of the balancer.',
  ),
  drainMs: wholeNumber(
    'STOREROOM_DRAIN_MS',
    0,
    [0, 60_000],
    'Milliseconds that a stopping service reports "not ready" before it closes its listener.',
  ),
} as const;

type ValueOf<S> = S extends Setting<infer T> ? T : never;
export type Config = { readonly [Name in keyof typeof SETTINGS]: ValueOf<(typeof SETTINGS)[Name]> };
export type Environment = Readonly<Record<string, string | undefined>>;
type SettingSource = 'default' | 'environment' | 'command line';

/** Returns a database address without its password: `postgres://user:…@host/database`. */
export const hidePassword = (url: string): string =>
  url.replace(/(?<=:\/\/[^:@/]*:)[^@]*(?=@)|(?<=[?&]password=)[^&]*/g, '…');

/**
 * Returns the settings: the command line takes precedence over the environment, which takes precedence over defaults.
 * Throws one WRONG_SETTING that names every mistake. `unknown` lists STOREROOM_ variables that are not settings.
 * Example: `parseConfig({ STOREROOM_PORT: '9000' }).config.port` is 9000.
 */
export function parseConfig(environment: Environment, commandLine: Environment = {}) {
  const mistakes: string[] = [];
  const config: Record<string, unknown> = {};
  const sources: Record<string, SettingSource> = {};
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const { variable, parse, form, secret } = setting;
    // An empty variable counts as missing.
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
