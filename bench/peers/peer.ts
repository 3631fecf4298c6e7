/** The interface of a peer of the benchmarks, and the writes that all peers have in common. */
import type { callWith } from '../sides/calls.ts';
import type { Server } from '../sides/servers.ts';
import type { Dialect, Values } from '../sides/side.ts';
import type { InstalledPeer } from './install.ts';

export interface Peer {
  readonly title: string;
  /** The npm packages of the peer. The version of the first is reported. */
  readonly packages: readonly [string, ...string[]];
  /** Starts the peer on a file of SQLite or on the URL of a database. */
  readonly start: (installed: InstalledPeer, database: string) => Promise<Server>;
  /** Returns the calls of the peer. `like` is the operator that finds substrings in any case. */
  readonly dialectOf: (like: 'like' | 'ilike') => Dialect;
}

/** Line number of an added line, because a peer does not number lines. */
const ADDED_LINE_NUMBER = '4';

/** Returns the writes of a peer: its paths, and its names of the fields. */
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
