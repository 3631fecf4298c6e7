/**
 * The search of the list of requests: read from the address, and turned into the query of the service. Times are UTC in
 * the address and local in the fields.
 */
import type { QueryOf } from '../../../../src/http/dashboard/interface.ts';

const HOUR_MS = 3_600_000;
const HOURS: Readonly<Record<string, number>> = { '1h': 1, '24h': 24, '7d': 7 * 24, '30d': 30 * 24 };
export const RANGES = [
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;
export const DEFAULT_RANGE = '30d';
export const CUSTOM = 'custom';
/** The status in the address until the user has typed an exact one. */
export const EXACT = 'exact';

type RequestSearch = ReturnType<typeof parseSearch>;

export function parseSearch(query: URLSearchParams) {
  const read = (name: string) => query.get(name) ?? '';
  const range = Object.hasOwn(HOURS, read('range')) || read('range') === CUSTOM ? read('range') : DEFAULT_RANGE;
  const isCustom = range === CUSTOM;
  const status = read('status') === EXACT ? '' : read('status');
  return {
    status,
    operation: read('operation'),
    key: read('key'),
    code: read('code'),
    order: read('order'),
    /** `1h` … `30d`, or `custom` with `from` and `to`. */
    range,
    /** UTC ISO 8601, '' for none. */
    from: isCustom ? read('from') : '',
    to: isCustom ? read('to') : '',
  };
}

export const isNarrowed = ({ status, operation, key, code, order, range }: RequestSearch): boolean =>
  [status, operation, key, code, order].some((value) => value !== '') || range !== DEFAULT_RANGE;

export function toRequestsQuery(
  { range, from, to, ...wanted }: RequestSearch,
  nowMs: number,
): QueryOf<'GET /requests'> {
  const hours = HOURS[range];
  return { ...wanted, from: hours === undefined ? from : new Date(nowMs - hours * HOUR_MS).toISOString(), to };
}

/** Formats a time for a datetime-local field: `2026-11-20T09:30` in the reader's time zone; '' for any other text. */
export function formatLocalTime(at: string): string {
  const time = new Date(at);
  if (at === '' || Number.isNaN(time.getTime())) return '';
  const two = (number: number) => String(number).padStart(2, '0');
  const year = String(time.getFullYear()).padStart(4, '0');
  return `${year}-${two(time.getMonth() + 1)}-${two(time.getDate())}T${two(time.getHours())}:${two(time.getMinutes())}`;
}

/** Returns the time of a datetime-local field in UTC, or ''. */
export function parseLocalTime(local: string): string {
  const time = new Date(local);
  return local === '' || Number.isNaN(time.getTime()) ? '' : time.toISOString();
}
