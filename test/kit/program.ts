/**
 * The words that start `storeroom`: the sources, or the program STOREROOM_TEST_PROGRAM names, which is the compiled one
 * (build/server/main.js) or an executable.
 */
import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';

const given = process.env['STOREROOM_TEST_PROGRAM'] || undefined;
const program = given === undefined ? fileURLToPath(new URL('../../src/main.ts', import.meta.url)) : resolve(given);

export const PROGRAM: readonly [string, ...string[]] = /\.[jt]s$/.test(program)
  ? [process.execPath, program]
  : [program];
export const isFromSources = given === undefined;
