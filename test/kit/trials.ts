/** Says how often a test repeats what it could repeat forever: more often in `npm run test:all` than in `npm test`. */

/** Whether everything runs, as in `npm run test:all`. */
export const IS_THOROUGH = process.env['STOREROOM_TEST_ALL'] === 'on';

/**
 * Returns the count in the variable `STOREROOM_TEST_<name>`. Without that variable, returns `all` if STOREROOM_TEST_ALL
 * is `on`, and otherwise `quick`.
 */
export function trials(name: string, { quick, all }: { quick: number; all: number }): number {
  return Number(process.env[`STOREROOM_TEST_${name}`] ?? (IS_THOROUGH ? all : quick));
}
