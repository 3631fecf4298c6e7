/** `storeroom` from the sources, on the time of the tests. The process that has started it may move its clock. */
import { runCommandLine } from '../../src/cli/program.ts';
import { clockOf } from './clock.ts';

process.umask(0o077);
const clock = clockOf(process.env);
process.on('message', ([what, ms]: ['move' | 'hold' | 'stand' | 'pass', number]) => {
  clock[what](ms);
  process.send!(readBoth());
});
process.channel?.unref();

/** Its time and the real one of the same millisecond. */
function readBoth(): [at: number, real: number] {
  for (;;) {
    const [real, at] = [Date.now(), clock.now()];
    if (Date.now() === real) return [at, real];
  }
}
process.exitCode = await runCommandLine(process.argv, process.env, clock);
