/** The storefront of the tests of examples/: sells orders in a folder, and runs an integration on it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { times } from '../kit/lists.ts';
import type { Shop } from '../kit/records.ts';
import { BASE_PATH, temporaryFolder } from '../kit/service.ts';
import { Example, PROGRAMS, ROOT } from './example.ts';

const { TypeScript, Python } = PROGRAMS;
export const LANGUAGES = { TypeScript, Python };

export interface Sold {
  readonly number: string;
  readonly soldAt: string;
  readonly name: string;
  readonly shipping: string;
  readonly lines: readonly { readonly part: string; readonly quantity: string; readonly price: string }[];
}

/** The keys of a tenant, and the address to which its calls are sent. */
type Place = Pick<Shop, 'keys'> & { readonly service: { readonly origin: string } };

/** The folder of a storefront, with the integration that runs on it. */
export class Storefront extends Example {
  readonly folder: string;

  constructor(command: readonly [string, string], { keys, service }: Place) {
    const folder = join(temporaryFolder(), 'storefront');
    for (const name of ['orders', 'taken', 'aside']) mkdirSync(join(folder, name), { recursive: true });
    const file = join(folder, 'keys.json');
    writeFileSync(file, JSON.stringify(keys));
    const own = { KEYS_FILE: file, STOREFRONT: folder, ROUND_SECONDS: '0.05', PYTHONDONTWRITEBYTECODE: '1' };
    const modules = { PYTHONPATH: join(ROOT, 'client-python') };
    super(command, { ...own, ...modules, BASE: service.origin + BASE_PATH });
    this.folder = folder;
    for (const name of ['.', 'taken', 'aside'])
      watch(join(folder, name), { persistent: false }, () => this.changed.emit('change'));
  }

  sell(order: Sold): void {
    writeFileSync(join(this.folder, 'orders', `${encodeURIComponent(order.number)}.json`), JSON.stringify(order));
  }

  list<T>(kind: 'taken' | 'aside'): T[] {
    const folder = join(this.folder, kind);
    if (!existsSync(folder)) return [];
    const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
    return names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as T);
  }

  stock(): Record<string, string> {
    const file = join(this.folder, 'stock.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>) : {};
  }
}

export interface Taken {
  readonly number: string;
  readonly orderNumber: string;
  readonly status?: { readonly state: string; readonly shipped: number; readonly ordered: number };
}

/** Makes an order. It was sold in the far future, so that the integrations, which use real time, never call it old. */
export const sold = (number: string, lines: number, more: Partial<Sold> = {}): Sold => ({
  number,
  soldAt: '9999-12-31T00:00:00Z',
  name: '$mith & Co',
  shipping: '5',
  lines: times(lines, (at) => ({ part: `P${at % 3}`, quantity: '1', price: '0.25' })),
  ...more,
});
