/**
 * A point in time, short and in the reader's time zone. Its title has all of it, in UTC.
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
type Unit = keyof typeof UNITS;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatTime(time: Date, to: Unit): string {
  const isThisYear = time.getFullYear() === new Date().getFullYear();
  const key = `${to} ${isThisYear}`;
  const year = isThisYear ? undefined : 'numeric';
  // Making a format takes far longer than using one.
  const format = formats.get(key) ?? new Intl.DateTimeFormat('en', { hourCycle: 'h23', ...UNITS[to], year });
  formats.set(key, format);
  return format.format(time);
}

interface TimeProps {
  at: string | null;
  to?: Unit;
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
