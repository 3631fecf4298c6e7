/**
 * The process: runs one command line with the environment and ends with its exit code. The only reader of process.env.
 */
import { enableCompileCache, flushCompileCache } from 'node:module';
import { CACHE_FOLDER, isExecutable } from './assets.ts';

// Compiled code is kept beside what npm installed, so that every start but the first is quick. Where that cannot be
// written, nothing is kept. The executable has its compiled code in it.
if (!isExecutable) enableCompileCache(CACHE_FOLDER);
// Only the user that runs the service may read its files: they hold tenants' records.
process.umask(0o077);
// Settings of memory are read at the start of a process, so the service starts again in its place. glibc raises its
// threshold with the largest block freed, and keeps what is smaller: 150 MiB after a burst of large pages. Given, it
// stays. V8 takes requests that wait for long-lived when its new space is small: under overload, half of the CPU went
// to marking. http/server/load.ts collects garbage after a burst.
const THRESHOLD = 'MALLOC_MMAP_THRESHOLD_';
const isLinuxService = process.platform === 'linux' && process.argv[2] === 'serve' && !process.connected;
if (isLinuxService && process.env[THRESHOLD] === undefined) {
  const options = ['--max-semi-space-size=16', '--expose-gc', ...process.execArgv];
  // The executable was built with these options, and takes none.
  const words = isExecutable ? process.argv.slice(2) : [...options, ...process.argv.slice(1)];
  // With this variable main.ts is kept too, so that nothing has to load what strips types.
  const cache = isExecutable ? {} : { NODE_COMPILE_CACHE: CACHE_FOLDER };
  process.execve!(process.execPath, [process.execPath, ...words], { ...cache, ...process.env, [THRESHOLD]: '262144' });
}
const { runCommandLine } = await import('./cli/program.ts');
const { systemClock } = await import('./clock.ts');

const exitCode = await runCommandLine(process.argv, process.env, systemClock);
if (exitCode !== 0) process.exitCode = exitCode;
// Written now: a killed process never writes its compile cache.
flushCompileCache();
