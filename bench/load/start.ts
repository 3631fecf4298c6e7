/**
 * Measures how fast a service starts after a `kill -9` of the previous one, and its memory when it is idle.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryMb, treeOf } from './processes.ts';
import { fetchText, type LoadRequest } from '../sides/calls.ts';
import { median } from '../report/report.ts';
import { startService } from '../sides/servers.ts';

const IDLE_MS = 3000;

export interface StartFigures {
  /** Time from the start of the process to its first answer. */
  readonly startMs: number;
  readonly idleMb: number;
}

export async function measureStart(place: string, first: LoadRequest, rounds: number): Promise<StartFigures> {
  const times: number[] = [];
  let idleMb = 0;
  for (let round = 0; round < rounds; round++) {
    const begunAt = performance.now();
    const server = await startService(place);
    await fetchText(server.origin, first);
    times.push(performance.now() - begunAt);
    if (round === 0) {
      await sleep(IDLE_MS);
      idleMb = memoryMb(treeOf(server.pid));
    }
    await server.stop('SIGKILL');
  }
  return { startMs: median(times), idleMb };
}
