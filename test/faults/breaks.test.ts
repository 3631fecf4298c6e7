/** What teeth.ts breaks is still in the source: those tests take minutes and run seldom. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { BREAKS } from './breaks.ts';

test('every promise that the tests of faults break is in the source, once', () => {
  for (const breaks of Object.values(BREAKS))
    for (const [promise, { file, good }] of Object.entries(breaks)) {
      const source = readFileSync(join(import.meta.dirname, '../../src', file), 'utf8');
      assert.equal(source.split(good).length, 2, `${promise}: ${file} has to have ${good}`);
    }
});
