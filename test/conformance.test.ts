/** Tests that a promise of docs/specification.md without a test, and a tag of a test without a promise, are found. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderPromises } from '../tools/conformance.ts';

const PROMISES = '# Law\n\n- **S1.1** One thing.\n- **S1.2** Another.\n';
const holds = (numbers: string): string => `  // Holds ${numbers}.\n  test('it is so', () => {});\n`;

test('each promise is listed once with each file that holds it', () => {
  const files = [
    ['test/a.test.ts', holds('S1.1') + holds('S1.1, S1.2')],
    ['test/b.test.ts', holds('S1.2')],
  ] as const;
  assert.match(
    renderPromises(PROMISES, files),
    /\n- S1\.1: \[a\]\(\.\.\/test\/a\.test\.ts\)\n- S1\.2: \[a\]\(\.\.\/test\/a\.test\.ts\), \[b\]\(\.\.\/test\/b\.test\.ts\)\n$/,
  );
});

test('a promise without a test is refused', () => {
  assert.throws(() => renderPromises(PROMISES, [['test/a.test.ts', holds('S1.1')]]), /no test holds S1\.2/);
});

test('a tag that names no promise is refused', () => {
  assert.throws(() => renderPromises(PROMISES, [['test/a.test.ts', holds('S1.1, S1.2, S2.1')]]), /no promise S2\.1/);
});

test('a tag with no test below it is refused', () => {
  const text = `${holds('S1.1, S1.2')}// Holds S1.1.\nconst none = 0;\n`;
  assert.throws(() => renderPromises(PROMISES, [['test/a.test.ts', text]]), /no test below "\/\/ Holds S1\.1\./);
});

test('a number that two promises have is refused', () => {
  const twice = `${PROMISES}- **S1.1** A third.\n`;
  assert.throws(() => renderPromises(twice, [['test/a.test.ts', holds('S1.1, S1.2')]]), /S1\.1 twice/);
});
