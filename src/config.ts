/**
 * Every setting: its environment variable, default, unit, bounds and meaning. Reads a given environment, never process.env itself, and reports all
 * mistakes at once. docs/configuration.md is written from this table.
 */
import { Refusal } from './errors.ts';

interface Setting<T> {
  readonly variable: string;
  readonly default: T;
  readonly meaning: string;
  readonly read: (text: string) => T | undefined;
  readonly form: string;
  /** The value as it may be shown, where it can hold a secret. */
  show?(value: T): string;
}

function whole(variable: string, fallback: number, [least, most]: [number, number], meaning: string): Setting<number> {
  const read = (given: string): number | undefined =>
    /^\d{1,9}$/.test(given) && Number(given) >= least && Number(given) <= most ? Number(given) : undefined;
  return { variable, default: fallback, meaning, read, form: `a whole number from ${least} to ${most}` };
}

function choice<T extends string>(variable: string, fallback: T, choices: readonly T[], meaning: string): Setting<T> {
  return {
    variable,
    default: fallback,
    meaning,
    read: (given) => choices.find((word) => word === given),
    form: choices.join(', '),
  };
}

function words(variable: string, fallback: string, meaning: string): Setting<string> {
  return {
    variable,
    default: fallback,
    meaning,
    read: (value) => (value === '' ? undefined : value),
    form: 'a text that is not empty',
  };
}

/** The address of a database, whose password is never shown. */
function address(variable: string, meaning: string): Setting<string> {
  const read = (given: string): string | undefined =>
    /^postgres(ql)?:\/\/[^\s]+$/.test(given) && URL.canParse(given) ? given : undefined;
  const show = (url: string): string => url.replace(/(?<=:\/\/[^:@/]*:)[^@]*(?=@)|(?<=[?&]password=)[^&]*/g, '…');
  return {
    variable,
    default: '',
    meaning,
    read,
    show,
    form: 'an address such as postgres://user:password@host:5432/database',
  };
}

/** Where people reach the service: scheme, host and port, without a path. */
function origin(variable: string, meaning: string): Setting<string> {
  const read = (given: string): string | undefined =>
    /^https?:\/\/[^\s/?#@]+$/.test(given) && URL.canParse(given) ? given : undefined;
  return { variable, default: '', meaning, read, form: 'an address without a path, such as https://pims.example.com' };
}

function addresses(variable: string, meaning: string): Setting<readonly string[]> {
  const isAddress = (word: string): boolean => {
    const [host = '', bits] = word.split('/');
    const isV6 = host.includes(':');
    const isGood = isV6
      ? URL.canParse(`http://[${host}]`)
      : /^\d+(\.\d+){3}$/.test(host) && URL.canParse(`http://${host}`);
    return isGood && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (isV6 ? 128 : 32)));
  };
  const read = (given: string): string[] | undefined => {
    const list = given.split(',').map((word) => word.trim());
    return list.every(isAddress) ? list : undefined;
  };
  return {
    variable,
    default: [],
    meaning,
    read,
    form: 'addresses or networks with commas between, such as 127.0.0.1, 10.0.0.0/8',
  };
}

export const SETTINGS = {
  data: words('STOREROOM_DATA', './data', 'Folder of the embedded store; made when it is not there.'),
  databaseUrl: address(
    'STOREROOM_DATABASE_URL',
    'Address of a PostgreSQL database; it is used instead of the embedded store.',
  ),
  databaseConnections: whole(
    'STOREROOM_DATABASE_CONNECTIONS',
    4,
    [1, 100],
    'Connections to PostgreSQL for reads by key, as many for writes and as many for queries; a node has three more.',
  ),
  port: whole('STOREROOM_PORT', 8080, [0, 65_535], 'Port to listen on; 0 takes a free one.'),
  host: words(
    'STOREROOM_HOST',
    '127.0.0.1',
    'Address to listen on. Anything but a loopback address belongs behind a proxy that speaks TLS.',
  ),
  publicUrl: origin(
    'STOREROOM_PUBLIC_URL',
    'Address under which people reach the service; links to the dashboard begin with it. Not set: as each request has it.',
  ),
  trustedProxies: addresses(
    'STOREROOM_TRUSTED_PROXIES',
    'Proxies in front whose X-Forwarded-For and X-Forwarded-Proto are believed.',
  ),
  demo: choice(
    'STOREROOM_DEMO',
    'on',
    ['on', 'off'],
    'Whether `serve` on an empty data folder makes the demo tenant; never in a PostgreSQL database.',
  ),
  logLevel: choice(
    'STOREROOM_LOG_LEVEL',
    'info',
    ['debug', 'info', 'warn', 'error'],
    'What is logged; `debug` adds one line a request. Credentials and query strings never are.',
  ),
  metrics: choice(
    'STOREROOM_METRICS',
    'on',
    ['on', 'off'],
    'Whether /metrics answers. It names operations and statuses, never tenants.',
  ),
  maxReturnDefault: whole(
    'STOREROOM_MAX_RETURN_DEFAULT',
    500,
    [1, 100_000],
    'Records a query returns when it sends no maxReturn.',
  ),
  maxReturnMost: whole('STOREROOM_MAX_RETURN_MOST', 5000, [1, 100_000], 'Records a query returns at most.'),
  queryBudgetMs: whole(
    'STOREROOM_QUERY_BUDGET_MS',
    2000,
    [10, 60_000],
    'Milliseconds a query may take before it is refused.',
  ),
  queryThreads: whole('STOREROOM_QUERY_THREADS', 2, [1, 64], 'Threads for long queries of the embedded store.'),
  idempotencyHours: whole('STOREROOM_IDEMPOTENCY_HOURS', 24, [24, 8760], 'Hours an Idempotency-Key is kept.'),
  requestLogDays: whole('STOREROOM_REQUEST_LOG_DAYS', 30, [1, 365], "Days the dashboard's request log goes back."),
  inFlightMost: whole(
    'STOREROOM_IN_FLIGHT_MOST',
    1024,
    [1, 100_000],
    'Requests worked on at the same time; more are answered 503.',
  ),
  keepAliveMs: whole(
    'STOREROOM_KEEP_ALIVE_MS',
    72_000,
    [1000, 600_000],
    'Milliseconds an idle connection is kept; more than the idle time of the balancer in front.',
  ),
  drainMs: whole(
    'STOREROOM_DRAIN_MS',
    0,
    [0, 60_000],
    'Milliseconds between "not ready" and closing the listener when stopping, for a balancer to notice.',
  ),
} as const;

type ValueOf<S> = S extends Setting<infer T> ? T : never;
export type Config = { readonly [Name in keyof typeof SETTINGS]: ValueOf<(typeof SETTINGS)[Name]> };
export type Environment = Readonly<Record<string, string | undefined>>;
/** Where a value came from, as `storeroom config` shows it. */
export type Source = 'default' | 'environment' | 'command line';

/**
 * The settings in force: command line before environment before default. Throws one COMMAND_REFUSED that names every mistake.
 * `unknown` lists STOREROOM_ variables that no setting has, most likely mistyped.
 * Example: `parseConfig({ STOREROOM_PORT: '9000' }, {}).config.port` is 9000.
 */
export function parseConfig(
  environment: Environment,
  overrides: Environment,
): { config: Config; sources: Record<string, Source>; unknown: string[] } {
  const mistakes: string[] = [];
  const config: Record<string, unknown> = {};
  const sources: Record<string, Source> = {};
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const given = overrides[setting.variable] ?? (environment[setting.variable] || undefined);
    const value = given === undefined ? setting.default : setting.read(given);
    if (value === undefined)
      mistakes.push(`${setting.variable} must be ${setting.form}${setting.show ? '' : `, not '${given}'`}.`);
    config[name] = value;
    sources[name] =
      overrides[setting.variable] !== undefined ? 'command line' : given === undefined ? 'default' : 'environment';
  }
  if (mistakes.length > 0) throw new Refusal('COMMAND_REFUSED', mistakes.join('\n'));
  const known = new Set(Object.values(SETTINGS).map(({ variable }): string => variable));
  const unknown = Object.keys(environment).filter(
    (variable) => /^STOREROOM_(?!TEST_)/.test(variable) && !known.has(variable),
  );
  return { config: config as Config, sources, unknown };
}
