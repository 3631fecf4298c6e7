/**
 * Tests the shape of the code: the architecture table, size, names, comments and exact versions. guards.test.ts proves
 * that the walker and oxlint find each fault.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { RELEASE_TESTS } from '../tools/release/tests.ts';
import { findFaults, REAL_TIME, ROOT, RULES } from './kit/tree-walker.ts';
import { SLOW } from './slow.ts';

suite('the tree', () => {
  const faults = findFaults(ROOT);
  for (const [rule, guarantee] of Object.entries(RULES))
    test(guarantee, () => {
      const found = faults
        .filter((fault) => fault.rule === rule)
        .map(({ file, line, text }) => `${file}:${line} ${text}`);
      assert.deepEqual(found, []);
    });

  test('no test is skipped, singled out or left for later', () => {
    for (const file of globSync('test/**/*.ts', { cwd: ROOT }))
      assert.doesNotMatch(
        readFileSync(join(ROOT, file), 'utf8'),
        /\.(skip|only|todo)\(|\b(skip|only|todo):\s*(true|['"`])/,
        file,
      );
  });

  test('real time is used in at most five files of test/, and the linter forbids it in others', () => {
    const config = readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8');
    const [, listed = ''] = /"files": (\[[^\]]*\]),\s*\/\/ Real time/.exec(config) ?? [];
    assert.deepEqual(JSON.parse(listed), Object.keys(REAL_TIME));
    assert.ok(Object.keys(REAL_TIME).length <= 5);
  });

  test('every dependency has one exact version', () => {
    for (const file of ['package.json', 'mcp/package.json']) {
      const manifest = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as Record<
        string,
        Record<string, string> | undefined
      >;
      for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies'])
        for (const [name, version] of Object.entries(manifest[kind] ?? {}))
          assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, `${kind}: ${name}`);
    }
  });
});

suite('no test is left out', () => {
  const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const [tests, others] = [/^test:/, /^(?!test:)/].map((form) =>
    Object.keys(scripts).filter((name) => form.test(name)),
  );

  test('every script of tests is run by .ci/run or before a release', () => {
    const gate =
      read('.ci/run')
        .replace(/#.*/g, '')
        .match(/(?<=\s)test:\w+/g) ?? [];
    assert.deepEqual([...gate, ...RELEASE_TESTS].toSorted(), tests!.toSorted());
  });

  test('every file of tests has the name by which npm run test:all finds it, or is named by such a script', () => {
    const commands = [...tests!, 'screenshots'].map((name) => scripts[name]).join(' ') + read('test/citus/run.ts');
    const files = globSync('test/**/*.ts', { cwd: ROOT }).filter((file) => /^\s*(test|suite)\(/m.test(read(file)));
    const named = files.filter((file) => file.endsWith('.test.ts') || commands.includes(file));
    assert.ok(named.length > 100 && others!.includes('screenshots'));
    // The contract is imported by a file for each store.
    assert.deepEqual(
      files.filter((file) => !named.includes(file) && !file.startsWith('test/store/contract')),
      [],
    );
    for (const file of SLOW.flatMap((slow) => slow.files)) assert.ok(existsSync(join(ROOT, file)), file);
  });
});
