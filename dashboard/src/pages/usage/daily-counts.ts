/**
 * Adds up the calls of a month by day or by operation, and formats days, months and counts. Days and months are UTC.
 */
import type { UsageView } from '../../../../src/http/dashboard/interface.ts';

export interface Counts {
  readonly name: string;
  readonly calls: number;
  readonly refused: number;
}

/** Example: `countDays('2026-02')` gives 28. */
export const countDays = (month: string): number =>
  new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5, 7)), 0)).getUTCDate();

/** Adds up the rows by name, in the order in which the names first appear. */
export function sumBy(rows: UsageView['rows'], by: 'day' | 'operation'): Counts[] {
  const sums = new Map<string, Counts>();
  for (const row of rows) {
    const { calls, refused } = sums.get(row[by]) ?? { calls: 0, refused: 0 };
    sums.set(row[by], { name: row[by], calls: calls + row.calls, refused: refused + row.refused });
  }
  return [...sums.values()];
}

/** Returns the first days of a month, with or without calls. */
export function listDays({ month, rows }: UsageView, days: number): Counts[] {
  const sums = new Map(sumBy(rows, 'day').map((sum) => [sum.name, sum]));
  return Array.from({ length: days }, (_, index) => {
    const name = `${month}-${String(index + 1).padStart(2, '0')}`;
    return sums.get(name) ?? { name, calls: 0, refused: 0 };
  });
}

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en', { timeZone: 'UTC', ...options });
const MONTH = format({ month: 'long', year: 'numeric' });
const DAY = format({ weekday: 'short', month: 'short', day: 'numeric' });
const formatWith = (formatter: Intl.DateTimeFormat, day: string) => {
  const time = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(time.getTime()) ? day : formatter.format(time);
};

export const isMonth = (text: string): boolean => /^\d{4}-(0[1-9]|1[0-2])$/.test(text);
/** Example: `formatMonth('2026-11')` gives `November 2026`. */
export const formatMonth = (month: string): string => formatWith(MONTH, `${month}-01`);
/** Example: `formatDay('2026-11-20')` gives `Fri, Nov 20`. */
export const formatDay = (day: string): string => formatWith(DAY, day);
/** Example: `formatCount(12041)` gives `12,041`. */
export const formatCount = (count: number): string => count.toLocaleString();
