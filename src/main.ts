/**
 * Begin here: the process runs one command line and ends with its exit code. Nothing else in src reads process.env.
 */
import { enableCompileCache, flushCompileCache } from 'node:module';
import { CACHE_FOLDER, isExecutable } from './assets.ts';

// Keeps compiled code in node_modules, so that every start except the first is fast. If the folder is not writable,
// nothing is kept. The executable contains its compiled code.
if (!isExecutable) enableCompileCache(CACHE_FOLDER);
// Only the user that runs the service may read its files, since they contain tenants' records.
process.umask(0o077);
// A process reads its memory settings when it starts, so the service replaces itself with a process that has them. By
// default glibc raises its threshold to the largest block freed, and does not return smaller blocks: 150 MiB after a
// burst of large pages. A threshold that is set stays constant. With a small new space, V8 treats waiting requests as
// long-lived: under overload, half of the CPU time was spent on marking. http/server/load.ts collects garbage after a
// burst.
const THRESHOLD = 'MALLOC_MMAP_THRESHOLD_';
const isLinuxService = process.platform === 'linux' && process.argv[2] === 'serve' && !process.connected;
if (isLinuxService && process.env[THRESHOLD] === undefined) {
  const options = ['--max-semi-space-size=16', '--expose-gc', ...process.execArgv];
  // The executable was built with these options, and accepts none.
  const words = isExecutable ? process.argv.slice(2) : [...options, ...process.argv.slice(1)];
  // This variable caches main.ts too, so that Node does not have to load the code that strips types.
  const cache = isExecutable ? {} : { NODE_COMPILE_CACHE: CACHE_FOLDER };
  process.execve!(process.execPath, [process.execPath, ...words], { ...cache, ...process.env, [THRESHOLD]: '262144' });
}
const { runCommandLine } = await import('./cli/commands/program.ts');
const { systemClock } = await import('./clock.ts');

const exitCode = await runCommandLine(process.argv, process.env, systemClock);
if (exitCode !== 0) process.exitCode = exitCode;
// A killed process never writes its compile cache, so it is written now.
flushCompileCache();
