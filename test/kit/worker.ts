/** A process of run.ts: runs the test files it is sent, each as a suite of its own, so that modules, services and browsers are shared. */
import { suite } from 'node:test';

process.on('message', (file: string) => {
  void suite(`${file} on ${process.env['STOREROOM_TEST_STORE']}`, () => import(`../../${file}`));
});
