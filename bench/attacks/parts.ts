/**
 * A process of `npm run bench:attacks`: an attack, which is nice to everybody else so that the attacked service is
 * measured and not the machine of the attackers, an onlooker, or a load. `prepare…` starts one and talks to it.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Target } from './target.ts';
import { attack, ATTACKS } from './attacks.ts';
import { look } from './onlooker.ts';
import { overload, type Load, type LoadFigures } from './overload.ts';
import type { Waits } from './waits.ts';

/** Answers to an attack, by status. */
export type Counts = Readonly<Record<string, number>>;

/** A process that waits for `go`. */
export interface Part<Report> {
  readonly go: () => Promise<void>;
  /** Returns its figures since the last report. */
  readonly report: () => Promise<Report>;
  readonly end: () => void;
}

interface Order {
  readonly name: string;
  readonly target: Target;
  readonly load: Load | undefined;
}

const NICE = 19;
/** Starting costs as well, and a process starts with the niceness it is given. */
const NICELY = { execPath: 'nice', execArgv: ['-n', String(NICE), process.execPath] };

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

export const prepareAttack = (name: string, target: Target): Promise<Part<Counts>> => prepare(name, target);
export const prepareLooking = (name: string, target: Target): Promise<Part<Waits>> => prepare(name, target);
export const prepareLoad = (target: Target, load: Load): Promise<Part<LoadFigures>> => prepare('load', target, load);

async function prepare<Report>(name: string, target: Target, load?: Load): Promise<Part<Report>> {
  const child = fork(fileURLToPath(import.meta.url), [], name in ATTACKS ? NICELY : {});
  children.add(child);
  child.send({ name, target, load } satisfies Order);
  await once(child, 'message');
  const ask = async (what: 'go' | 'report'): Promise<unknown> => {
    child.send(what);
    return ((await once(child, 'message')) as [unknown])[0];
  };
  return {
    go: async () => void (await ask('go')),
    report: async () => (await ask('report')) as Report,
    end: () => {
      children.delete(child);
      child.kill('SIGKILL');
    },
  };
}

if (import.meta.main) {
  const [{ name, target, load }] = (await once(process, 'message')) as [Order];
  const isAttack = name in ATTACKS;
  if (isAttack) setPriority(NICE);
  let report: () => unknown = () => undefined;
  process.on('message', (what) => {
    if (what === 'go') report = load ? overload(target, load) : isAttack ? attack(name, target) : look(name, target);
    process.send!(what === 'go' ? 'gone' : report());
  });
  process.on('disconnect', () => process.exit());
  process.send!('ready');
}
