/** Finds everything of a team by one text: orders, customers, parts, serial numbers, requests, keys and pages. */
import { get } from '../api/client.ts';
import { anyOf, CONTAINS_LEAST, where } from '../records/filters.ts';
import { queryRecords, recordPath, type Kind } from '../records/records.ts';
import { pathOf } from '../browser/router.tsx';
import { formatDate } from '../ui/text/text.tsx';
import { SECTIONS } from './navigation.ts';

export interface Found {
  readonly to: string;
  readonly group: string;
  readonly text: string;
  readonly note: string;
}

const EACH_MAX = 5;
/** The fields of each kind: those matched exactly, those matched in part, and those shown. Matches use an index. */
const FIELDS: Readonly<Record<Kind, { exact: readonly string[]; part: readonly string[]; shown: readonly string[] }>> =
  {
    orders: {
      exact: ['ORDER_NUMBER', 'REFERENCE_NUMBER'],
      part: ['ORDER_NUMBER', 'REFERENCE_NUMBER', 'BNAME', 'SNAME', 'BEMAIL', 'TRACKING_NUMBERS', 'PO_NUMBER'],
      shown: ['ORDER_NUMBER', 'REFERENCE_NUMBER', 'BNAME', 'ORDER_DATE'],
    },
    customers: {
      exact: ['CUSTOMER_CODE'],
      part: ['CUSTOMER_CODE', 'CUSTOMER_NAME', 'BNAME', 'BEMAIL', 'BPHONE'],
      shown: ['CUSTOMER_CODE', 'CUSTOMER_NAME', 'BCITY', 'BEMAIL'],
    },
    inventory: {
      exact: ['PART_CODE', 'BARCODE'],
      part: ['PART_CODE', 'PART_DESCRIPTION', 'BARCODE'],
      shown: ['PART_CODE', 'PART_DESCRIPTION', 'QTY_AVAILABLE'],
    },
  };
const GROUPS = { orders: 'Orders', customers: 'Customers', inventory: 'Parts' } as const;

/** Example: `await findAll('Ann', signal)`. Sources that fail are left out. */
export async function findAll(text: string, signal: AbortSignal): Promise<Found[]> {
  const sources = [
    ...(Object.keys(FIELDS) as Kind[]).map((kind) => findRecords(kind, text, signal)),
    findSerials(text, signal),
    findRequest(text, signal),
    findKeys(text, signal),
  ];
  const found = await Promise.allSettled(sources);
  return [...findPages(text), ...found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))];
}

async function findRecords(kind: Kind, value: string, signal: AbortSignal) {
  const { exact, part, shown } = FIELDS[kind];
  const filters = anyOf(exact, 'eq', value);
  if (kind === 'orders') filters.push(where('REFERENCE_NUMBER', 'eq', `#${value}`, 'OR'));
  const partly = value.length >= CONTAINS_LEAST ? anyOf(part, 'contains', value) : [];
  const pages = await Promise.all(
    [filters, partly]
      .filter((some) => some.length > 0)
      // Newest first, because the indexes find the newest records fastest.
      .map((some) => queryRecords(kind, some, { maxReturn: EACH_MAX, sort: '-CREATE_DATE' }, signal)),
  );
  const [key = ''] = shown;
  const rows = new Map(pages.flatMap((page) => page.rows).map((row) => [row[key], row]));
  return [...rows.values()].slice(0, EACH_MAX).map((row) => ({
    to: recordPath(kind, row[key] ?? ''),
    group: GROUPS[kind],
    text: row[key] ?? '',
    note: shown
      .slice(1)
      .flatMap((name) => (row[name] ? formatDate(row[name]) : []))
      .join(' · '),
  }));
}

async function findSerials(serial: string, signal: AbortSignal) {
  const { units } = await get('/stock/serial', { serial }, signal);
  return units.map(({ PART_CODE, ORDER_NUMBER }) => ({
    to: ORDER_NUMBER === '' ? recordPath('inventory', PART_CODE) : recordPath('orders', ORDER_NUMBER),
    group: 'Serial numbers',
    text: serial,
    note: ORDER_NUMBER === '' ? `${PART_CODE}, in stock` : `${PART_CODE}, sold on order ${ORDER_NUMBER}`,
  }));
}

const REQUEST_ID = /^[\w-]{1,64}-[0-9a-z]{1,10}$/;
async function findRequest(requestID: string, signal: AbortSignal) {
  if (!REQUEST_ID.test(requestID)) return [];
  const { operation, httpStatus } = await get('/requests/single', { requestID }, signal);
  const to = pathOf('/requests/:requestID', { requestID });
  return [{ to, group: 'Requests', text: requestID, note: `${operation}, ${httpStatus}` }];
}

async function findKeys(text: string, signal: AbortSignal) {
  if (text.length < CONTAINS_LEAST) return [];
  const { keys } = await get('/keys', {}, signal);
  return keys
    .filter(({ apiID, name }) => apiID.startsWith(text) || name.toLowerCase().includes(text.toLowerCase()))
    .slice(0, EACH_MAX)
    .map(({ apiID, name }) => ({ to: '/api-settings', group: 'Keys', text: name, note: apiID }));
}

const findPages = (text: string) =>
  SECTIONS.flatMap(({ items }) => items)
    .filter(({ label }) => label.toLowerCase().startsWith(text.toLowerCase()))
    .map(({ to, label }) => ({ to, group: 'Pages', text: label, note: '' }));
