/** `storeroom` from the sources, on the time of the tests. The process that started it can move its clock. */
import { runCommandLine } from '../../src/cli/commands/program.ts';
import { clockOf } from './clock.ts';

process.umask(0o077);
const clock = clockOf(process.env);
process.on('message', ([what, ms]: ['move' | 'hold' | 'stand' | 'pass', number]) => {
  clock[what](ms);
  process.send!(clock.read());
});
process.channel?.unref();
process.exitCode = await runCommandLine(process.argv, process.env, clock);
