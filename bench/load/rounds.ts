/**
 * Begin here: in a round every side is loaded for a moment, in turns, so that the rest of the machine's work affects
 * all of them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { runStatement } from '../../test/kit/postgres.ts';
import type { LoadRequest } from '../sides/calls.ts';
import { load, type LoadAmount, type LoadFigures } from './load-generator.ts';
import { cpuTimeUs, forgetPeaks, machineTimeUs, peakMemoryMb, treeOf } from './processes.ts';
import type { Side } from '../sides/side.ts';

const TRIES = 4;
/** How many times as long a repeated load runs. */
const LONGER = 2;
const IDLE_LOOK_MS = 100;
const IDLE_GIVE_UP_MS = 20_000;
/** CPU time a millisecond above which a server still works. */
const BUSY_US_A_MS = 300;
/** V8 compiles what a server does often for the first two seconds of load, in threads that count as the server's. */
const WARM_UP_SECONDS = 3;

export interface SideFigures extends LoadFigures {
  /** CPU time a request, of the server and of its connections in PostgreSQL. */
  readonly cpuUs: number;
  /** The most memory that the server held, without PostgreSQL. */
  readonly memoryMb: number;
  /** The share of the machine that neither the server nor the load took, of 1. */
  readonly elsewhere: number;
}

export interface LoadedSide {
  readonly side: Side;
  readonly requests: readonly LoadRequest[];
}

export interface RoundOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
}

/** Runs each of the measures once a round, from round 1, and returns their results. Each round begins with another one. */
export async function takeTurns<T>(
  rounds: number,
  measures: readonly ((round: number) => Promise<T>)[],
  first = 0,
): Promise<T[][]> {
  const found = measures.map((): T[] => []);
  for (let round = 1; round <= rounds; round++)
    for (let place = 0; place < measures.length; place++) {
      const index = (first + round + place) % measures.length;
      found[index]!.push(await measures[index]!(round));
    }
  return found;
}

/** The figures of each side, one a round, after a round that warms up. `first` is the side that begins. */
export async function measureRounds(
  sides: readonly LoadedSide[],
  { rounds, seconds, connections }: RoundOptions,
  first = 0,
): Promise<SideFigures[][]> {
  const warmUp = { connections, seconds: WARM_UP_SECONDS, seed: 0 };
  await takeTurns(
    1,
    sides.map((loaded) => () => measure(loaded, warmUp)),
    first,
  );
  const measures = sides.map((loaded) => (seed: number) => measure(loaded, { connections, seconds, seed }));
  return takeTurns(rounds, measures, first);
}

/** On a machine with other work a request may fail, or none be answered in time: such a load is repeated for longer. */
async function measure(loaded: LoadedSide, amount: LoadAmount, tries = TRIES): Promise<SideFigures> {
  try {
    const figures = await measureOnce(loaded, amount);
    if (figures.count > 0) return figures;
    throw new Error(`${loaded.side.name} answered nothing.`);
  } catch (fault) {
    if (tries === 1) throw fault;
    console.log(`Measured again: ${(fault as Error).message}`);
    return measure(loaded, { ...amount, seconds: amount.seconds * LONGER }, tries - 1);
  }
}

async function measureOnce({ side, requests }: LoadedSide, amount: LoadAmount): Promise<SideFigures> {
  const pids = treeOf(side.server.pid);
  const all = [...pids, ...(await findBackends(side))];
  forgetPeaks(pids);
  const before = { ours: cpuTimeUs(all), ...machineTimeUs() };
  const figures = await load(side.server.origin, requests, amount);
  const after = { ours: cpuTimeUs(all), ...machineTimeUs() };
  const known = after.ours - before.ours + after.children - before.children;
  const memoryMb = peakMemoryMb(pids);
  await waitUntilIdle(all);
  return {
    ...figures,
    cpuUs: (after.ours - before.ours) / figures.count,
    memoryMb,
    elsewhere: Math.max(0, (after.busy - before.busy - known) / (after.total - before.total)),
  };
}

/** Waits, because a slow server continues to work for callers that are gone while the next side is measured. */
async function waitUntilIdle(pids: readonly number[]): Promise<void> {
  const giveUpAt = Date.now() + IDLE_GIVE_UP_MS;
  for (let isBusy = true; isBusy && Date.now() < giveUpAt;) {
    const before = cpuTimeUs(pids);
    await sleep(IDLE_LOOK_MS);
    isBusy = cpuTimeUs(pids) - before > IDLE_LOOK_MS * BUSY_US_A_MS;
  }
}

/** The processes of PostgreSQL that work for a side. */
async function findBackends({ databaseUrl }: Side): Promise<number[]> {
  if (databaseUrl === undefined) return [];
  const backends = await runStatement(
    databaseUrl,
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  return backends.map(({ pid }) => Number(pid));
}
