/** A process of run.ts: runs each file it is sent as a suite, so that modules, services and browsers are shared. */
import { flushCompileCache } from 'node:module';
import { suite } from 'node:test';
import { inspect } from 'node:util';
import { dropDatabases } from './postgres.ts';
import { END, type Ended } from './report.ts';
import { endShared } from './shared.ts';
import { until } from './wait.ts';

/** The kinds of what is open before the first file, such as the channel to run.ts. */
let atStart: readonly string[] | undefined;

process.on('message', (file: string) => {
  atStart ??= process.getActiveResourcesInfo();
  if (file === END)
    void end().then(
      () => tell(),
      (fault: unknown) => tell(inspect(fault)),
    );
  else void suite(`${file} on ${process.env['STOREROOM_TEST_STORE']}`, () => import(`../../${file}`));
});
process.on('disconnect', () => process.exit()); // run.ts has ended
// run.ts sends this signal to a process in which something stays open, and prints what it says at the end of the run.
process.on('SIGUSR2', () => {
  // Without it, the report looks up the names of other machines, which can take minutes.
  Object.assign(process.report, { excludeNetwork: true });
  const { libuv } = process.report.getReport() as { libuv: { is_active: boolean; is_referenced: boolean }[] };
  const open = libuv.filter((handle) => handle.is_active && handle.is_referenced);
  process.stderr.write(`Open: ${findOpen().join(' ')} ${JSON.stringify(open)}\n`);
});

/** Ends what the files shared, and waits until nothing is open that they opened. */
async function end(): Promise<void> {
  await endShared();
  await dropDatabases();
  await until(() => findOpen().length === 0);
  flushCompileCache(); // a killed process would not
}

function tell(fault = ''): void {
  process.send!({ ended: fault } satisfies Ended);
}

function findOpen(): string[] {
  const before = [...(atStart ?? [])];
  return process.getActiveResourcesInfo().filter((kind) => {
    const index = before.indexOf(kind);
    if (index >= 0) before.splice(index, 1);
    return index < 0;
  });
}
