/** A process of run.ts: runs each file it is sent as a suite, so that modules, services and browsers are shared. */
import { suite } from 'node:test';

process.on('message', (file: string) => {
  void suite(`${file} on ${process.env['STOREROOM_TEST_STORE']}`, () => import(`../../${file}`));
});
// run.ts sends this signal before it ends a process that does not end by itself.
process.on('SIGUSR2', () => {
  process.stderr.write(
    `Open in the process of tests that does not end: ${process.getActiveResourcesInfo().join(' ')}\n`,
  );
});
