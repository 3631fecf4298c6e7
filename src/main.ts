/**
 * The process: hands the arguments and the environment to the command line and ends with its exit code.
 * The only reader of process.env; never decides anything.
 */
import { enableCompileCache } from 'node:module';

// Compiled code is kept beside what npm installed, so that every start but the first is quick. Where that cannot be
// written, nothing is kept.
enableCompileCache(`${import.meta.dirname}/../node_modules/.cache/storeroom`);
// Records are the tenants' own: what is written here is for the user the service runs as.
process.umask(0o077);
const { runCommandLine } = await import('./cli/program.ts');

const exitCode = await runCommandLine(process.argv, process.env);
if (exitCode !== 0) process.exitCode = exitCode;
