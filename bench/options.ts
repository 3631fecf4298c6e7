/**
 * The options of `npm run bench`; bench/README.md describes them.
 */
import { parseArgs } from 'node:util';
import { PEER_NAMES, type PeerName } from './peers/peers.ts';
import { MAIN_ORDERS } from './report/results.ts';
import { STORES, type StoreName } from './sides/places.ts';

/** The workloads under load, then those that are measured differently. */
const WORKLOADS = ['W1', 'W2', 'W3', 'W4', 'W5', 'W6', 'W7', 'W8', 'W9', 'W10', 'W11', 'start'] as const;
const PARTS = [...WORKLOADS, 'tenants'] as const;
type Part = (typeof PARTS)[number];

export interface Options {
  readonly stores: readonly StoreName[];
  readonly workloads: readonly Part[];
  readonly peers: readonly PeerName[];
  readonly rounds: number;
  readonly seconds: number;
  /** Number of starts of the services. Each start has all rounds, and a different service starts first each time. */
  readonly starts: number;
  readonly orders: number;
  /** The commit to compare this checkout with, instead of peers. */
  readonly against: string | undefined;
  /** Whether the run measures every workload, with peers at the main size. Only such results are kept. */
  readonly isWhole: boolean;
}

export function readOptions(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      store: { type: 'string', default: STORES.join(',') },
      workload: { type: 'string' },
      peer: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      starts: { type: 'string', default: '1' },
      orders: { type: 'string', default: '100000' },
      against: { type: 'string' },
    },
  });
  const orders = readCount('--orders', values.orders);
  if (orders % 1000 !== 0) throw new Error(`--orders takes whole thousands, not ${orders}.`);
  const hasPeers = values.peer !== 'none' || orders !== MAIN_ORDERS;
  return {
    stores: readList('--store', values.store, STORES),
    workloads: values.workload === undefined ? WORKLOADS : readList('--workload', values.workload, PARTS),
    peers: values.peer === 'none' ? [] : readList('--peer', values.peer ?? PEER_NAMES.join(','), PEER_NAMES),
    rounds: readCount('--rounds', values.rounds),
    seconds: readCount('--seconds', values.seconds),
    starts: readCount('--starts', values.starts),
    orders,
    against: values.against,
    isWhole: values.workload === undefined && values.against === undefined && hasPeers,
  };
}

function readList<Name extends string>(option: string, text: string, known: readonly Name[]): Name[] {
  const names = text.split(',');
  const wrong = names.find((name) => !known.includes(name as Name));
  if (wrong !== undefined) throw new Error(`${option} takes ${known.join(', ')}, not '${wrong}'.`);
  return known.filter((name) => names.includes(name));
}

function readCount(option: string, text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new Error(`${option} takes a number from 1, not '${text}'.`);
  return count;
}
