/** A process of run.ts: runs each file it is sent as a suite, so that modules, services and browsers are shared. */
import { suite } from 'node:test';

const END_MS = 20_000;

process.on('message', (file: string) => {
  void suite(`${file} on ${process.env['STOREROOM_TEST_STORE']}`, () => import(`../../${file}`));
});
// Says what it waits for, before run.ts ends it.
process.on('disconnect', () => {
  setTimeout(() => {
    process.stderr.write(
      `A process of tests does not end. Open in it: ${process.getActiveResourcesInfo().join(' ')}\n`,
    );
  }, END_MS).unref();
});
