/**
 * The storefront: here a folder, in your program the API of your storefront. `orders` has the orders that were sold,
 * `taken` those that Storeroom has, `aside` those that a person has to look at. Files are replaced as a whole, so that
 * a crash leaves the old or the new file.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fulfillment } from '@storeroom/client';

export interface SoldOrder {
  /** The storefront's own number, such as `#5501`. */
  readonly number: string;
  /** The time in ISO 8601. */
  readonly soldAt: string;
  readonly name: string;
  readonly shipping: string;
  readonly lines: readonly { readonly part: string; readonly quantity: string; readonly price: string }[];
}

export interface Status {
  readonly state: Fulfillment['state'];
  readonly shipped: number;
  readonly ordered: number;
  readonly tracking: readonly string[];
}

const FOLDER = process.env['STOREFRONT'] ?? 'storefront';
for (const name of ['orders', 'taken', 'aside']) mkdirSync(join(FOLDER, name), { recursive: true });
const fileOf = (kind: string, number: string): string => join(FOLDER, kind, `${encodeURIComponent(number)}.json`);
const read = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T;
const listFolder = (kind: string): string[] =>
  readdirSync(join(FOLDER, kind))
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => join(FOLDER, kind, name));

function replace(file: string, content: unknown): void {
  writeFileSync(`${file}.new`, JSON.stringify(content));
  renameSync(`${file}.new`, file);
}

interface Taken {
  readonly number: string;
  readonly status?: Status;
}

/** Returns the orders that are neither taken by Storeroom nor set aside. */
export const newOrders = (): SoldOrder[] =>
  listFolder('orders')
    .map((file) => read<SoldOrder>(file))
    .filter(({ number }) => !existsSync(fileOf('taken', number)) && !existsSync(fileOf('aside', number)));

export const markTaken = (number: string, orderNumber: string): void =>
  replace(fileOf('taken', number), { number, orderNumber });

export const setAside = (number: string, reason: string): void => replace(fileOf('aside', number), { number, reason });

/** Returns the numbers of orders that are neither shipped nor cancelled. */
export const openNumbers = (): string[] =>
  listFolder('taken')
    .map((file) => read<Taken>(file))
    .filter(({ status }) => status?.state !== 'shipped' && status?.state !== 'cancelled')
    .map(({ number }) => number);

export function publishStatus(number: string, status: Status): void {
  const file = fileOf('taken', number);
  replace(file, { ...read<Taken>(file), status });
}

export function publishStock(available: Readonly<Record<string, string>>): void {
  const file = join(FOLDER, 'stock.json');
  replace(file, { ...(existsSync(file) && read<object>(file)), ...available });
}
