/** A process of run.ts: runs each file it is sent as a suite, so that modules, services and browsers are shared. */
import { suite } from 'node:test';

process.on('message', (file: string) => {
  void suite(`${file} on ${process.env['STOREROOM_TEST_STORE']}`, () => import(`../../${file}`));
});
