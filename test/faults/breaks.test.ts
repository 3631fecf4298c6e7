/** Checks that the source, in any layout, has the code that teeth.ts breaks. teeth.ts takes minutes and runs rarely. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { format } from 'oxfmt';
import { BREAKS, breakPromise } from './breaks.ts';

/** Widths of lines that give as many line breaks as possible, and as few. */
const WIDTHS = [20, 320];

async function layOut(file: string, source: string, printWidth: number): Promise<string> {
  if (!file.endsWith('.ts')) return source.replaceAll(/\s+/g, ' ');
  const { code, errors } = await format(file, source, { printWidth, singleQuote: true });
  assert.deepEqual(errors, [], `${file} is not TypeScript`);
  return code;
}

for (const [promise, one] of Object.values(BREAKS).flatMap((breaks) => Object.entries(breaks)))
  test(`the promise that ${promise} can be broken, wherever the lines of its source end`, async () => {
    const source = readFileSync(join(import.meta.dirname, '../../src', one.file), 'utf8');
    const broken = breakPromise(source, one);
    assert.notEqual(broken, source);
    for (const width of WIDTHS) {
      await layOut(one.file, broken, width);
      breakPromise(await layOut(one.file, source, width), one);
    }
  });

test('a promise can be broken across lines, and only if its source occurs once', () => {
  const change = { file: 'a.ts', good: 'keep(one, [two])', broken: '$&' };
  const sources = ['keep(one, [two])', 'keep( one,[ two ] )', 'keep(\n  one,\n  [\n    two,\n  ],\n)'];
  for (const source of sources) assert.equal(breakPromise(`a;\n${source};\nb;`, change), 'a;\n$&;\nb;');
  for (const source of ['', 'keep(one two)', 'keep(one, [two, three])', sources.join(';')])
    assert.throws(() => breakPromise(source, change), /a\.ts has to have this once:\nkeep\(one/);
});
