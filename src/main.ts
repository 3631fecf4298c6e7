/**
 * The process: hands the arguments and the environment to the command line and ends with its exit code.
 * The only reader of process.env; never decides anything.
 */
import { runCommandLine } from './cli/program.ts';

const exitCode = await runCommandLine(process.argv, process.env);
if (exitCode !== 0) process.exitCode = exitCode;
