/** Runs attacks and measures the service, and the waits of others, meanwhile. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf } from '../../test/kit/attack.ts';
import { HttpClient } from '../../test/kit/http-client.ts';
import type { Service } from '../../test/kit/service.ts';
import { MixedLoad } from '../../test/system/mixed-load.ts';
import type { Target } from './target.ts';
import { prepareAttack, prepareLooking, type Counts, type Part } from './parts.ts';
import { ONLOOKERS } from './onlooker.ts';
import type { Waits } from './waits.ts';

type Looks = Readonly<Record<keyof typeof ONLOOKERS, Waits>>;

export interface Figures {
  /** Waits of others before the attack and during it. */
  readonly idle: Looks;
  readonly during: Looks;
  /** Resident memory, and the most of it. */
  readonly idleMib: number;
  readonly peakMib: number;
  /** The same without pages of files, which the kernel takes back when it needs them. */
  readonly ownIdleMib: number;
  readonly ownPeakMib: number;
  /** Growth of the data folder. */
  readonly grownMib: number;
  /** Seconds until the process ended, if it did. */
  readonly diedAfter: number | undefined;
  /** Answers to each attack. */
  readonly counts: Readonly<Record<string, Counts>>;
}

interface Times {
  readonly idleSeconds: number;
  readonly seconds: number;
}

/** Runs attacks together, and `beside` with them. The service has to run; it may have ended afterwards. */
export async function measure(
  service: Service,
  target: Target,
  names: readonly string[],
  { idleSeconds, seconds }: Times,
  beside: (isOver: () => boolean) => Promise<unknown> = () => Promise.resolve(),
): Promise<Figures> {
  const looking = new Map<string, Part<Waits>>();
  for (const name of Object.keys(ONLOOKERS)) looking.set(name, await prepareLooking(name, target));
  const attacks = await Promise.all(names.map(async (name) => [name, await prepareAttack(name, target)] as const));
  for (const part of looking.values()) await part.go();
  const report = async (): Promise<Looks> => {
    const waits: Record<string, Waits> = {};
    for (const [name, part] of looking) waits[name] = await part.report();
    return waits;
  };
  await sleep(1000);
  await report();
  await sleep(idleSeconds * 1000);
  const idle = await report();
  const { now: idleMib } = memoryOf(service.pid);
  const ownIdleMib = ownMemory(service);
  // The kernel forgets the most it has had.
  writeFileSync(`/proc/${service.pid}/clear_refs`, '5');
  const before = folderBytes(service);

  const begunAt = performance.now();
  const state = { isOver: false, peakMib: idleMib, ownPeakMib: ownIdleMib };
  const working = beside(() => state.isOver);
  await Promise.all(attacks.map(([, part]) => part.go()));
  const elapsed = (): number => (performance.now() - begunAt) / 1000;
  while (elapsed() < seconds && !service.hasExited) {
    state.peakMib = read(() => memoryOf(service.pid).peak, state.peakMib);
    state.ownPeakMib = read(() => Math.max(state.ownPeakMib, ownMemory(service)), state.ownPeakMib);
    await sleep(50);
  }
  const diedAfter = service.hasExited ? elapsed() : undefined;
  const during = await report();
  const counts: Record<string, Counts> = {};
  for (const [name, part] of attacks) {
    counts[name] = await part.report();
    part.end();
  }
  state.isOver = true;
  await working;
  for (const part of looking.values()) part.end();
  const grownMib = (folderBytes(service) - before) / 2 ** 20;
  const { peakMib, ownPeakMib } = state;
  return { idle, during, idleMib, peakMib, ownIdleMib, ownPeakMib, grownMib, diedAfter, counts };
}

/** Reads a figure of a process in /proc; returns the known one when the process has just ended. */
function read(look: () => number, known: number): number {
  try {
    return look();
  } catch {
    return known;
  }
}

/** Resident memory in MiB without pages of files. */
function ownMemory({ pid }: Service): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)![1]) / 1024;
}

function folderBytes(service: Service): number {
  if (service.databaseUrl !== undefined) return 0;
  return readdirSync(service.dataFolder, { recursive: true, encoding: 'utf8' }).reduce(
    (sum, name) => sum + (statSync(join(service.dataFolder, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}

/** Resolves to the seconds until the service's own memory is below `mib`, or to undefined when that takes too long. */
export async function waitForMemory(service: Service, mib: number, withinSeconds: number): Promise<number | undefined> {
  const begunAt = performance.now();
  for (;;) {
    const seconds = (performance.now() - begunAt) / 1000;
    if (ownMemory(service) <= mib) return seconds;
    if (seconds > withinSeconds) return undefined;
    await sleep(250);
  }
}

/** Writers beside an attack, who know what they were acknowledged. */
export class Writers {
  readonly #load: MixedLoad;
  readonly #connections: number;

  private constructor(load: MixedLoad, connections: number) {
    this.#load = load;
    this.#connections = connections;
  }

  static async make(service: Service, connections: number): Promise<Writers> {
    const client = await HttpClient.open(service, connections);
    return new Writers(await MixedLoad.open(client, service, ['first', 'second']), connections);
  }

  run = (isOver: () => boolean): Promise<void> => this.#load.run(this.#connections, isOver);

  /** Nothing acknowledged is lost, everything answered is counted. Gives how many writes that were. */
  async check(service: Service): Promise<{ acknowledged: number; statuses: string }> {
    await this.#load.check(service);
    assert.ok(this.#load.acknowledged > 0, 'nothing was written');
    return { acknowledged: this.#load.acknowledged, statuses: JSON.stringify([...this.#load.statuses]) };
  }
}
