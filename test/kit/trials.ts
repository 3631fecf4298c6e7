/** How often a test repeats what could be repeated without end: more often in `npm run test:all` than in `npm test`. */

/** Whether everything runs, as `npm run test:all` does. */
export const IS_THOROUGH = process.env['STOREROOM_TEST_ALL'] === 'on';

/**
 * The count of the variable `STOREROOM_TEST_<name>`; without it `all` where STOREROOM_TEST_ALL is `on`, else `quick`.
 */
export function trials(name: string, { quick, all }: { quick: number; all: number }): number {
  return Number(process.env[`STOREROOM_TEST_${name}`] ?? (IS_THOROUGH ? all : quick));
}
