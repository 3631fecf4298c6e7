/** A process of run.ts: runs each file it is sent as a suite, so that modules, services and browsers are shared. */
import { suite } from 'node:test';

process.on('message', (file: string) => {
  void suite(`${file} on ${process.env['STOREROOM_TEST_STORE']}`, () => import(`../../${file}`));
});
// run.ts sends this signal to a process that does not end by itself, and prints what it says at the end of the run.
process.on('SIGUSR2', () => {
  // Without it, the report looks up the names of other machines, which can take minutes.
  Object.assign(process.report, { excludeNetwork: true });
  const { libuv } = process.report.getReport() as { libuv: { is_active: boolean; is_referenced: boolean }[] };
  const open = libuv.filter((handle) => handle.is_active && handle.is_referenced);
  process.stderr.write(`Open: ${process.getActiveResourcesInfo().join(' ')} ${JSON.stringify(open)}\n`);
});
