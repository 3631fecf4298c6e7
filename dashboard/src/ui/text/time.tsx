/**
 * A point in time, short and in the reader's time zone, with the whole of it in UTC as its title.
 */
const DAY: Intl.DateTimeFormatOptions = { month: 'short', day: 'numeric' };
const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en', { hourCycle: 'h23', ...options });
const FORMATS = {
  minutes: {
    thisYear: format({ ...DAY, hour: '2-digit', minute: '2-digit' }),
    other: format({ ...DAY, year: 'numeric', hour: '2-digit', minute: '2-digit' }),
  },
  seconds: {
    thisYear: format({ ...DAY, hour: '2-digit', minute: '2-digit', second: '2-digit' }),
    other: format({ ...DAY, year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' }),
  },
  milliseconds: {
    thisYear: format({ ...DAY, hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 }),
    other: format({
      ...DAY,
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      fractionalSecondDigits: 3,
    }),
  },
  days: { thisYear: format(DAY), other: format({ ...DAY, year: 'numeric' }) },
};

/** Example: `<Time at={request.at} to="seconds" />`; null and '' show `none` (`–`). */
export function Time({
  at,
  to = 'minutes',
  none = '–',
}: {
  at: string | null;
  to?: keyof typeof FORMATS;
  none?: string;
}) {
  const time = new Date(at ?? '');
  if (Number.isNaN(time.getTime())) return <span class="muted">{none}</span>;
  const isThisYear = time.getFullYear() === new Date().getFullYear();
  return (
    <time
      dateTime={time.toISOString()}
      title={`${time
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z$/, '')} UTC`}
    >
      {FORMATS[to][isThisYear ? 'thisYear' : 'other'].format(time)}
    </time>
  );
}
