/**
 * The process: runs one command line with the environment and ends with its exit code. The only reader of process.env.
 */
import { enableCompileCache } from 'node:module';

// Compiled code is kept beside what npm installed, so that every start but the first is quick. Where that cannot be
// written, nothing is kept.
enableCompileCache(`${import.meta.dirname}/../node_modules/.cache/storeroom`);
// Only the user that runs the service may read its files: they hold tenants' records.
process.umask(0o077);
const { runCommandLine } = await import('./cli/program.ts');

const exitCode = await runCommandLine(process.argv, process.env);
if (exitCode !== 0) process.exitCode = exitCode;
