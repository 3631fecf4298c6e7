/**
 * Lists the scripts of tests that `.ci/run` leaves out. `npm run release -- --check` runs all of them, in this order.
 */
export const RELEASE_TESTS = [
  'test:release',
  'test:balancer',
  'test:citus',
  'test:faults',
  'test:fuzz',
  'test:fresh',
  'test:mutation',
  'test:mutation:all',
] as const;
