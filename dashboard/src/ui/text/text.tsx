/**
 * Values of the tenant: texts, isolated from the direction of their surroundings and shortened if they are very long;
 * amounts of money, exact; times, durations and dates; names with values, one below the other; and small marks, a word
 * in a tone. Amounts and times have the form of the viewer's locale.
 */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Stage } from '../../../../src/pims/rules/stages.ts';
import { Button } from '../button.tsx';
import type { Tone } from '../page.tsx';

/** The placeholder for a missing value. */
export const None = () => <span class="muted">–</span>;

/** Example: `shorten(customer.CUSTOMER_NAME, 120)`, if there is no room to expand the text. */
export const shorten = (text: string, charactersMax: number): string =>
  text.length <= charactersMax ? text : `${text.slice(0, charactersMax).replace(/[\ud800-\udbff]$/, '')}…`;

/** Example: `<Text value={order.NOTES} />`. */
export function Text({ value, charactersMax = 300 }: { value: string; charactersMax?: number }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = value.length > charactersMax * 1.2;
  return (
    <>
      <bdi class="text">{isLong && !isWhole ? shorten(value, charactersMax) : value}</bdi>
      {isLong && (
        <Button size="small" tone="quiet" class="text-more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : `Show all ${value.length} characters`}
        </Button>
      )}
    </>
  );
}

/** Example: `countOf(1, 'record')` gives `1 record`, `countOf(1200, 'record')` gives `1,200 records`. */
export const countOf = (count: number, noun: string): string =>
  `${count.toLocaleString()} ${count === 1 ? noun : `${noun}s`}`;

/** The format of amounts: at least two decimals, with separators between thousands. */
const money = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 20 });

/** Example: `formatMoney('24464.5')` gives `24,464.50` in English; a text that is not a number stays unchanged. */
export const formatMoney = (amount: string): string =>
  /^-?\d+(\.\d+)?$/.test(amount) ? money.format(amount as Intl.StringNumericLiteral) : amount;

/** Example: `<Money value={order.ORDER_TOTAL} />`. A negative amount is red. The title has the text of the API. */
export const Money = ({ value }: { value: string }) => (
  <span class={value.startsWith('-') ? 'negative' : undefined} title={value}>
    {formatMoney(value)}
  </span>
);

const DAY: Intl.DateTimeFormatOptions = { month: 'short', day: 'numeric' };
const MINUTES: Intl.DateTimeFormatOptions = { ...DAY, hour: '2-digit', minute: '2-digit' };
const SECONDS: Intl.DateTimeFormatOptions = { ...MINUTES, second: '2-digit' };
const UNITS = {
  days: DAY,
  minutes: MINUTES,
  seconds: SECONDS,
  milliseconds: { ...SECONDS, fractionalSecondDigits: 3 },
} as const;
export type TimeUnit = keyof typeof UNITS;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatTime(time: Date, to: TimeUnit): string {
  const isThisYear = time.getFullYear() === new Date().getFullYear();
  const key = `${to} ${isThisYear}`;
  const year = isThisYear ? undefined : 'numeric';
  // Creating a formatter takes far longer than using it.
  const format = formats.get(key) ?? new Intl.DateTimeFormat(undefined, { hourCycle: 'h23', ...UNITS[to], year });
  formats.set(key, format);
  return format.format(time);
}

/** Example: `formatDuration(0.123)` gives `0.12 ms`, `formatDuration(2310)` gives `2.31 s`. */
export function formatDuration(milliseconds: number): string {
  const [figure, unit] = milliseconds >= 1000 ? [milliseconds / 1000, 's'] : [milliseconds, 'ms'];
  return `${figure.toLocaleString('en', { maximumSignificantDigits: 3 })} ${unit}`;
}

interface TimeProps {
  at: string | null;
  to?: TimeUnit | undefined;
  /** The text for null and ''. */
  none?: string;
}
/**
 * A short time in the viewer's time zone; its title has the complete time in UTC. Example: `<Time at={request.at}
 * to="seconds" />`.
 */
export function Time({ at, to = 'minutes', none = '–' }: TimeProps) {
  const time = new Date(at ?? '');
  if (Number.isNaN(time.getTime())) return <span class="muted">{none}</span>;
  const iso = time.toISOString();
  return (
    <time dateTime={iso} title={`${iso.slice(0, 19).replace('T', ' ')} UTC`}>
      {formatTime(time, to)}
    </time>
  );
}

const date = new Intl.DateTimeFormat(undefined, { ...DAY, year: 'numeric', timeZone: 'UTC' });

/** Returns a date of a record in ISO 8601, as date fields have it: `toIsoDate('11/20/2026')` gives `'2026-11-20'`. */
export const toIsoDate = (text: string): string => text.replace(/^(\d\d)\/(\d\d)\/(\d{4})$/, '$3-$1-$2');

/** Example: `formatDate('11/20/2026')` gives `20 Nov 2026` in Britain; a text that is not a date stays unchanged. */
export function formatDate(text: string): string {
  const iso = toIsoDate(text);
  return iso === text ? text : date.format(new Date(iso));
}

/** A day without a time zone. Example: `<Day value={order.ORDER_DATE} />`. The title has the text of the API. */
export const Day = ({ value }: { value: string }) => <span title={value}>{formatDate(value)}</span>;

interface KeyValueProps {
  rows: readonly (readonly [name: string, value: ComponentChildren, title?: string])[];
  /** `mono-names` is for names of code, and `facts` for values side by side in a card. */
  look?: 'mono-names' | 'facts';
}

/**
 * Example: `<KeyValue rows={[['Issued', <Time at={key.issuedAt} />], ['By', key.issuedBy]]} />`; an empty value shows
 * `–`.
 */
export const KeyValue = ({ rows, look }: KeyValueProps) => (
  <dl class={look === 'facts' ? 'facts' : `key-value ${look ?? ''}`}>
    {rows.map(([name, value, title = name]) => (
      <div key={title}>
        <dt title={title}>{name}</dt>
        <dd>{value === '' || value === null || value === undefined ? <None /> : value}</dd>
      </div>
    ))}
  </dl>
);

/** Example: `<Badge tone="good">In force</Badge>`. */
export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);

/** Example: `<StatusBadge status={404} />`. */
export function StatusBadge({ status }: { status: number }) {
  const tone: Tone = status >= 500 ? 'bad' : status >= 400 ? 'warn' : status >= 300 ? 'neutral' : 'good';
  return <span class={`badge mono ${tone}`}>{status}</span>;
}

const STAGES: Readonly<Record<Stage, readonly [label: string, tone: Tone]>> = {
  worksheet: ['Worksheet', 'neutral'],
  quote: ['Quote', 'warn'],
  sales_order: ['Sales order', 'info'],
  invoice: ['Invoice', 'good'],
};

const isStage = (text: string): text is Stage => Object.hasOwn(STAGES, text);
/** Example: `labelStage('sales_order')` gives `Sales order`. */
export const labelStage = (stage: Stage): string => STAGES[stage][0];

/** Example: `<StageBadge stage={order.ORDER_TYPE} />`. */
export function StageBadge({ stage, isCancelled = false }: { stage: string; isCancelled?: boolean }) {
  const [label, tone] = isStage(stage) ? STAGES[stage] : [stage || 'None', 'neutral' as const];
  return isCancelled ? (
    <Badge tone="bad">
      {label}, {stage === 'invoice' ? 'void' : 'cancelled'}
    </Badge>
  ) : (
    <Badge tone={tone}>{label}</Badge>
  );
}

const METHOD_TONES: Readonly<Record<string, Tone>> = { POST: 'good', PUT: 'warn' };
/** The method of a request. Example: `<Method method="PUT" />`. */
export const Method = ({ method }: { method: string }) => (
  <span class={`method mono ${METHOD_TONES[method] ?? 'info'}`}>{method}</span>
);
