/**
 * Runs command lines of `storeroom`: each in a separate process, or one after another in a process that they share
 * (command-runner.ts).
 */
import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { CommandOutcome, CommandRequest } from './command-runner.ts';
import { isFromSources, PROGRAM, type Words } from './program.ts';

/** Outcome of a command. The exit code is null if a signal ended the process. */
export type Outcome = Omit<CommandOutcome, 'exitCode'> & { readonly exitCode: number | null };

const RUNNER = new URL('command-runner.ts', import.meta.url);

let runner: ChildProcess | undefined;
let last: Promise<unknown> = Promise.resolve();

/** Runs `storeroom …words` in the shared process, with exactly this environment. */
export function runInRunner(request: CommandRequest): Promise<Outcome> {
  if (!isFromSources) return runProcess(request);
  const outcome = last.then(() => send(request));
  last = outcome.catch(() => undefined);
  return outcome;
}

async function send(request: CommandRequest): Promise<CommandOutcome> {
  runner ??= startRunner();
  runner.channel!.ref();
  const ended = new AbortController();
  runner.send(request);
  const answer = once(runner, 'message', { signal: ended.signal });
  const end = once(runner, 'exit', { signal: ended.signal }).then(() => {
    runner = undefined;
    throw new Error(`The process that runs commands has ended: ${request.words.join(' ')}`);
  });
  try {
    const [outcome] = (await Promise.race([answer, end])) as [CommandOutcome];
    return outcome;
  } finally {
    answer.catch(() => undefined);
    end.catch(() => undefined);
    ended.abort();
    runner?.channel?.unref();
  }
}

/** Starts the shared process, which ends with the test process. */
function startRunner(): ChildProcess {
  const child = fork(RUNNER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.unref();
  child.channel!.unref();
  return child;
}

interface ProcessOptions {
  /** Whether to close the pipe of its output after the first bytes. */
  readonly stopsReading?: boolean;
  /** A program that starts the process. */
  readonly under?: readonly string[];
  /** The words that start another version of the program. */
  readonly program?: Words;
}

/** Runs a command in a separate process. */
export async function runProcess(
  { words, env }: CommandRequest,
  { stopsReading = false, under = [], program = PROGRAM }: ProcessOptions = {},
): Promise<Outcome> {
  const [first, ...before] = [...under, ...program];
  const child = spawn(first!, [...before, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  if (stopsReading) child.stdout.once('data', () => child.stdout.destroy());
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, out, err };
}
