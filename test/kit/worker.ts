/** A process of run.ts: runs each file it is sent as a suite, so that modules, services and browsers are shared. */
import { flushCompileCache } from 'node:module';
import { suite } from 'node:test';
import { inspect } from 'node:util';
import { dropDatabases } from './postgres.ts';
import { END, type Ended } from './report.ts';
import { endShared } from './shared.ts';
import { until } from './wait.ts';

interface Handle {
  readonly address: string;
  readonly type: string;
  readonly is_active: boolean;
  readonly is_referenced: boolean;
}

const { STOREROOM_TEST_STORE: store, TZ: zone } = process.env;
const PASS = `on ${store}${zone === undefined ? '' : ` in ${zone}`}`;
/** The addresses of what is open before the first file, such as the channel to run.ts. */
let atStart: ReadonlySet<string> | undefined;

process.on('message', (file: string) => {
  atStart ??= new Set(listOpen().map(({ address }) => address));
  if (file === END)
    void end().then(
      () => tell(),
      (fault: unknown) => tell(inspect(fault)),
    );
  else void suite(`${file} ${PASS}`, () => import(`../../${file}`));
});
process.on('disconnect', () => process.exit()); // run.ts has ended
// run.ts sends this signal to a process in which something stays open, and prints what it says at the end of the run.
process.on('SIGUSR2', () => process.stderr.write(`Open: ${JSON.stringify(findOpen())}\n`));

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

const findOpen = (): Handle[] => listOpen().filter(({ address }) => atStart?.has(address) !== true);

/** Lists the handles that keep this process running, except for the turn of `until`, as a report of Node does. */
function listOpen(): Handle[] {
  // With the network, a report looks up the names of other machines, which can take minutes.
  Object.assign(process.report, { excludeNetwork: true });
  const { libuv } = process.report.getReport() as { libuv: Handle[] };
  return libuv.filter((handle) => handle.is_active && handle.is_referenced && handle.type !== 'idle');
}
