/**
 * The words that start `storeroom`: from the sources on the time of the tests, or the program that
 * STOREROOM_TEST_PROGRAM names, which is the compiled one (build/server/main.js) or an executable.
 */
import { fileURLToPath } from 'node:url';
import { join, resolve } from 'node:path';

export type Words = readonly [string, ...string[]];

const given = process.env['STOREROOM_TEST_PROGRAM'] || undefined;
const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const program = given === undefined ? pathOf('../../src/main.ts') : resolve(given);

export const isFromSources = given === undefined;
/** The words that start it as outside tests, on real time. */
export const SHIPPED: Words = /\.[jt]s$/.test(program) ? [process.execPath, program] : [program];
/** Returns the words that start the sources in a folder in tests, with the options that main.ts gives a service. */
export const programAt = (root: string): Words => [
  process.execPath,
  '--max-semi-space-size=16',
  '--expose-gc',
  join(root, 'test/kit/clocked-program.ts'),
];
/** The words that start it in tests. */
export const PROGRAM: Words = isFromSources ? programAt(pathOf('../..')) : SHIPPED;
