/** A peer of the benchmarks, and the calls that all of them make alike. */
import type { callWith } from '../sides/calls.ts';
import type { Server } from '../sides/servers.ts';
import type { Dialect, Values } from '../sides/side.ts';
import type { InstalledPeer } from './install.ts';

export interface Peer {
  readonly title: string;
  /** The version of the first is reported. */
  readonly packages: readonly [string, ...string[]];
  /** Starts it on a file of SQLite, or the URL of a database. */
  readonly start: (installed: InstalledPeer, database: string) => Promise<Server>;
  /** Its calls. `like` is the operator of substrings that ignores case. */
  readonly dialectOf: (like: 'like' | 'ilike') => Dialect;
}

/** Line number of an added line. A peer has no rules that would number it. */
const ADDED_LINE_NUMBER = '4';

/** Writes of records by paths, their fields by other names. */
export function writesOf(
  call: ReturnType<typeof callWith>,
  nameOf: (field: string) => string,
  { orders, lines, update }: Readonly<Record<'orders' | 'lines' | 'update', string>>,
): Pick<Dialect, 'createOrder' | 'addLine' | 'updateCustomer'> {
  const rename = (values: Values): Values =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [nameOf(name), value]));
  return {
    createOrder: (values) => call('POST', orders, rename(values)),
    addLine: (values) => call('POST', lines, rename({ ...values, LINE_NUMBER: ADDED_LINE_NUMBER })),
    updateCustomer: (code, values) => call(update, `/customers/${code}`, rename(values)),
  };
}
