/**
 * Times and dates in the form of the viewer's locale. A time is short and in the viewer's time zone; its title has all
 * of it, in UTC. A date is a day without a time zone.
 */
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
  // Making a format takes far longer than using one.
  const format = formats.get(key) ?? new Intl.DateTimeFormat(undefined, { hourCycle: 'h23', ...UNITS[to], year });
  formats.set(key, format);
  return format.format(time);
}

interface TimeProps {
  at: string | null;
  to?: TimeUnit;
  /** The text for null and ''. */
  none?: string;
}
/** Example: `<Time at={request.at} to="seconds" />`. */
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

/** Example: `formatDate('11/20/2026')` gives `20 Nov 2026` in Britain; a text that is not a date stays unchanged. */
export function formatDate(text: string): string {
  const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d{4})$/.exec(text) ?? [];
  return year === undefined ? text : date.format(new Date(`${year}-${month}-${day}`));
}

/** Example: `<Day value={order.ORDER_DATE} />`. Its title has the text of the API. */
export const Day = ({ value }: { value: string }) => <span title={value}>{formatDate(value)}</span>;
