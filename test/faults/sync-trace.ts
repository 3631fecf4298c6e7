/**
 * What a service reads, syncs and answers, and when the disk is told to lose its power, in the order in which strace sees
 * it from outside. A call that strace notes before another begins has ended before it: the other still waits for strace.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../kit/service.ts';

/** When the fsync of a write's group had returned. */
export type Order = 'before the shutdown was asked for' | 'after it, as a success' | 'as a failure, or never';

/** A call of the system; places are those of lines of the trace. */
interface SystemCall {
  readonly name: string;
  /** Of its first argument. */
  readonly file: string;
  readonly text: string;
  readonly beginsAt: number;
  /** Infinity when the process ended in it. */
  endsAt: number;
}

const CALLS = 'fsync,fdatasync,read,write,writev,ioctl';
const TEXT_CHARACTERS = 2000;
const SHUT_DOWN = /^ioctl\(\d+[^,]*, 0x8004587d/;

/** Watches a service and what will shut its disk down. The function `end` waits until both have ended. */
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

  /** Of the group of the write whose request has this in it, when syncs go to this file. */
  orderOf(token: string, file: string): Order {
    const sync = this.#findSync(token, file);
    if (!sync || !/\) += 0$/.test(sync.text)) return 'as a failure, or never';
    return sync.endsAt < this.#askedAt ? 'before the shutdown was asked for' : 'after it, as a success';
  }

  /** The last between the request and the answer on its connection: a log that starts over is synced twice. */
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

/** `-f` cuts a call in two where another thread's comes between. */
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
