/**
 * A process of `npm run bench:attacks`: an attack, or a caller beside it. `prepare` starts the process and talks to it.
 * An attack runs at the lowest priority, so that it does not take the processor from the service and the callers.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { attack, ATTACKS } from './attacks.ts';
import { beginCalls, type Waits } from './callers.ts';
import type { Target } from './target.ts';

/** Answers to an attack, by status. */
export type Counts = Readonly<Record<string, number>>;

/** A process that waits for `go`. */
export interface Part<Report> {
  readonly go: () => Promise<unknown>;
  /** Returns the figures of the process since the last report. */
  readonly report: () => Promise<Report>;
  readonly end: () => void;
}

interface Order {
  readonly name: string;
  readonly target: Target;
  readonly perSecond: number | undefined;
}

const NICE = 19;
/** Starts a process at the lowest priority from the beginning, because its start also takes processor time. */
const NICELY = { execPath: 'nice', execArgv: ['-n', String(NICE), process.execPath] };

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** Prepares an attack (Counts) or a caller (Waits) by its name. The caller `load` makes `perSecond` calls. */
export async function prepare<Report>(name: string, target: Target, perSecond?: number): Promise<Part<Report>> {
  const child = fork(import.meta.filename, [], name in ATTACKS ? NICELY : {});
  children.add(child);
  const ask = async (what: 'go' | 'report' | Order): Promise<unknown> => {
    child.send(what);
    return ((await once(child, 'message')) as [unknown])[0];
  };
  await ask({ name, target, perSecond });
  return {
    go: () => ask('go'),
    report: async () => (await ask('report')) as Report,
    end: () => {
      children.delete(child);
      child.kill('SIGKILL');
    },
  };
}

/** Runs a caller for some seconds, after a time that is not measured, and returns its waits. */
export async function watch(
  name: string,
  target: Target,
  { settleMs = 0, seconds, perSecond }: { settleMs?: number; seconds: number; perSecond?: number },
): Promise<Waits> {
  const part = await prepare<Waits>(name, target, perSecond);
  await part.go();
  await sleep(settleMs);
  await part.report();
  await sleep(seconds * 1000);
  const waits = await part.report();
  part.end();
  return waits;
}

if (import.meta.main) {
  const [{ name, target, perSecond }] = (await once(process, 'message')) as [Order];
  const isAttack = name in ATTACKS;
  if (isAttack) setPriority(NICE);
  let report: () => unknown = () => undefined;
  process.on('message', (what) => {
    if (what === 'go') report = isAttack ? attack(name, target) : beginCalls(name, target, perSecond);
    process.send!(what === 'go' ? 'gone' : report());
  });
  process.on('disconnect', () => process.exit());
  process.send!('ready');
}
