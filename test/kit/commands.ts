/** Runs command lines of `storeroom` without a process for each: one process of the test file runs them one after another (command-runner.ts). */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { CommandOutcome, CommandRequest } from './command-runner.ts';

const RUNNER = new URL('command-runner.ts', import.meta.url);

let runner: ChildProcess | undefined;
let last: Promise<unknown> = Promise.resolve();

/** What `storeroom …words` prints and ends with, in this environment and no other. */
export function runInRunner(request: CommandRequest): Promise<CommandOutcome> {
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

/** It ends with the test process. */
function startRunner(): ChildProcess {
  const child = fork(RUNNER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.unref();
  child.channel!.unref();
  return child;
}
