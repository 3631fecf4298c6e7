/**
 * Begin here: each round loads every side for a moment, one after the other, so that other work on the machine affects
 * all of them.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { runStatement } from '../../test/kit/postgres.ts';
import type { LoadRequest } from '../sides/calls.ts';
import { load, type LoadAmount, type LoadFigures } from './load-generator.ts';
import { cpuTimeUs, forgetPeaks, machineTimeUs, peakMemoryMb, treeOf } from './processes.ts';
import type { Side } from '../sides/side.ts';

const TRIES = 4;
/** Factor by which a repeated load is longer. */
const LONGER = 2;
const IDLE_LOOK_MS = 100;
const IDLE_GIVE_UP_MS = 20_000;
/** CPU time per millisecond, in microseconds, above which a server is still busy. */
const BUSY_US_A_MS = 300;
/** Longer than the first two seconds of load, in which V8 compiles frequent code in threads of the server. */
const WARM_UP_SECONDS = 3;

export interface SideFigures extends LoadFigures {
  /** CPU time per request of the server and of its connections in PostgreSQL. */
  readonly cpuUs: number;
  /** Maximum memory of the server, without PostgreSQL. */
  readonly memoryMb: number;
  /** Share of the machine's CPU time, from 0 to 1, that neither the server nor the load took. */
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

/** Runs every measure once per round, from round 1, and returns the results. Each round begins with a different one. */
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

/** Returns the figures of each side for each round, after a round that warms up. `first` is the side that begins. */
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

/** Measures a load. Repeats a longer one if a request failed or none was answered, as can happen on a busy machine. */
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

/** Waits until a server is idle. A slow one would still work for callers that have left while the next is measured. */
async function waitUntilIdle(pids: readonly number[]): Promise<void> {
  const giveUpAt = Date.now() + IDLE_GIVE_UP_MS;
  for (let isBusy = true; isBusy && Date.now() < giveUpAt;) {
    const before = cpuTimeUs(pids);
    await sleep(IDLE_LOOK_MS);
    isBusy = cpuTimeUs(pids) - before > IDLE_LOOK_MS * BUSY_US_A_MS;
  }
}

/** Lists the processes of PostgreSQL that work for a side. */
async function findBackends({ databaseUrl }: Side): Promise<number[]> {
  if (databaseUrl === undefined) return [];
  const backends = await runStatement(
    databaseUrl,
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  return backends.map(({ pid }) => Number(pid));
}
