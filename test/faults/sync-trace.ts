/**
 * Records the reads, syncs and answers of a service, and the shutdown of its disk, in the order in which strace sees
 * them. A call that strace notes before another begins has ended before it, because the other still waits for strace.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../kit/service.ts';

/** When the fsync of a write's commit group returned. */
export type Order = 'before the shutdown was asked for' | 'after it, as a success' | 'as a failure, or never';

/** A system call. `beginsAt` and `endsAt` are lines of the trace. */
interface SystemCall {
  readonly name: string;
  /** The file of its first argument. */
  readonly file: string;
  readonly text: string;
  readonly beginsAt: number;
  /** Infinity if the process ended during the call. */
  endsAt: number;
}

const CALLS = 'fsync,fdatasync,read,write,writev,ioctl';
const TEXT_CHARACTERS = 2000;
const SHUT_DOWN = /^ioctl\(\d+[^,]*, 0x8004587d/;

/** Traces a service and the process that will shut its disk down. `end` waits until both have ended. */
export async function traceSyncs(service: number, powerSwitch: number): Promise<{ end: () => Promise<SyncTrace> }> {
  const file = join(temporaryFolder(), 'trace');
  const pids = [service, powerSwitch].flatMap((pid) => ['-p', `${pid}`]);
  const words = ['-f', '-y', '-X', 'raw', '-s', `${TEXT_CHARACTERS}`, '-e', `trace=${CALLS}`, '-o', file, ...pids];
  const strace = spawn('strace', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(strace, 'exit');
  let said = '';
  strace.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  while (!said.includes(`Process ${powerSwitch} attached`)) await once(strace.stderr, 'data');
  return {
    end: async () => {
      await ended;
      return new SyncTrace(readFileSync(file, 'utf8'));
    },
  };
}

export class SyncTrace {
  readonly #calls: readonly SystemCall[];
  readonly #askedAt: number;

  constructor(trace: string) {
    this.#calls = parseTrace(trace);
    const shutdown = this.#calls.find(({ text }) => SHUT_DOWN.test(text));
    if (!shutdown) throw new Error('The shutdown is not in the trace.');
    this.#askedAt = shutdown.beginsAt;
  }

  /** Returns when the fsync of `file` returned for the write whose request contains the token. */
  orderOf(token: string, file: string): Order {
    const sync = this.#findSync(token, file);
    if (!sync || !/\) += 0$/.test(sync.text)) return 'as a failure, or never';
    return sync.endsAt < this.#askedAt ? 'before the shutdown was asked for' : 'after it, as a success';
  }

  /** Finds the last sync between the request and its answer: a log that starts over is synced twice. */
  #findSync(token: string, file: string): SystemCall | undefined {
    const request = this.#calls.find(({ name, text }) => name === 'read' && text.includes(`\\"${token}\\"`));
    if (!request) return undefined;
    const answer = this.#calls.find(
      (one) => one.file === request.file && one.name.startsWith('write') && one.beginsAt > request.endsAt,
    );
    return this.#calls.findLast(
      (one) =>
        one.name.endsWith('sync') &&
        one.file === file &&
        one.beginsAt > request.endsAt &&
        one.beginsAt < (answer?.beginsAt ?? Infinity),
    );
  }
}

/** Parses a trace. With `-f`, strace splits a call into two lines if a call of another thread comes between. */
function parseTrace(trace: string): SystemCall[] {
  const calls: SystemCall[] = [];
  const open = new Map<string, { text: string; beginsAt: number }>();
  const add = (text: string, beginsAt: number, endsAt: number): void => {
    const [, name, file] = /^(\w+)\(\d+(?:<([^>]*)>)?/.exec(text) ?? [];
    if (name !== undefined) calls.push({ name, file: file ?? '', text, beginsAt, endsAt });
  };
  for (const [at, line] of trace.split('\n').entries()) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const begun = / <unfinished \.\.\.>$/.exec(rest);
    const resumed = /^<\.\.\. \w+ resumed>/.exec(rest);
    if (begun) open.set(thread, { text: rest.slice(0, begun.index), beginsAt: at });
    else if (resumed) {
      const call = open.get(thread);
      open.delete(thread);
      if (call) add(call.text + rest.slice(resumed[0].length), call.beginsAt, at);
    } else add(rest, at, at);
  }
  for (const { text, beginsAt } of open.values()) add(text, beginsAt, Infinity);
  return calls.toSorted((a, b) => a.beginsAt - b.beginsAt);
}
