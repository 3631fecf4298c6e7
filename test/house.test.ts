/** Tests the size of the code: the tokens of src and mcp/src, the files of a folder, and one meaning for a name. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import { parseSync, Visitor } from 'oxc-parser';
import { findWordFaults } from '../tools/words.ts';

const ROOT = join(import.meta.dirname, '..');
/** Maximum tokens of src, with the scripts of schemas. Raise it only in a change that says by how much. */
const SRC_TOKENS_MAX = 239_750;
const MCP_TOKENS_MAX = 5500;
const FOLDER_FILES_MAX = 12;
const FUNCTIONS_OF_A_NAME_MAX = 3;
/**
 * Names that more functions have, each for one task: `close` ends what was opened, the word that Node, Fastify and
 * the drivers also use; `deleteExpired` is what a service calls every hour on each of its parts.
 */
const SHARED_NAMES = ['close', 'deleteExpired'];

/**
 * Matches words, numbers, operators and whole strings, but not templates, whose text counts: much of it is SQL. White
 * space does not count, so dense lines gain nothing.
 */
const TOKEN = new RegExp(
  [
    /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/, // strings
    /[\p{L}_$][\p{L}\p{N}_$]*|\d[\w.]*/u, // words and numbers
    /=>|\?\?=?|\?\.|[=!]==?|[-+*/%&|^<>]=|&&|\|\||\.\.\.|[^\s]/, // operators
  ]
    .map(({ source }) => source)
    .join('|'),
  'gu',
);

const files = globSync(['{src,mcp/src}/**/*.{ts,sql}', 'dashboard/src/**/*.{ts,tsx,css}'], { cwd: ROOT }).toSorted();
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const dropComments = (file: string): string =>
  file.endsWith('.sql')
    ? read(file).replace(/--.*$/gm, '')
    : read(file)
        .replace(/\/\*[\s\S]*?\*\//g, '')
        .replace(/(^|[\s;{}(,])\/\/.*$/gm, '$1');

/** Returns the items of each key that has more than `most` items, by key. */
function findCrowds<T>(items: readonly T[], keyOf: (item: T) => string, most: number): Record<string, readonly T[]> {
  const groups = Object.entries(Object.groupBy(items, keyOf)) as [string, T[]][];
  return Object.fromEntries(groups.filter(([, group]) => group.length > most));
}

/** Returns the places and words of the faults of prose. */
const findIn = (file: string, code: string): string[] =>
  findWordFaults(file, code).map((fault) => fault.split(':', 2).join(':'));

/**
 * Lists the names of the functions of a file: declared, assigned to a constant or a field, or a method or an accessor of
 * a class or an object. A value of a table, such as `run` of an entry, is not listed, because the table is its name.
 */
function listFunctions(file: string, code: string): string[] {
  const names: string[] = [];
  const add = (key: { readonly type: string } | null): void => {
    if (key && 'name' in key) names.push(key.name as string);
  };
  const isFunction = (value: { readonly type: string } | null): boolean =>
    value?.type === 'ArrowFunctionExpression' || value?.type === 'FunctionExpression';
  new Visitor({
    FunctionDeclaration: ({ id }) => add(id),
    MethodDefinition: ({ key, kind }) => (kind === 'constructor' ? undefined : add(key)),
    PropertyDefinition: ({ key, value }) => (isFunction(value) ? add(key) : undefined),
    VariableDeclarator: ({ id, init }) => (isFunction(init) ? add(id) : undefined),
    Property: ({ key, kind, method }) => (method || kind !== 'init' ? add(key) : undefined),
  }).visit(parseSync(file, code).program);
  return names;
}

suite('the house', () => {
  for (const [folder, most, least] of [
    ['src', SRC_TOKENS_MAX, 100],
    ['mcp/src', MCP_TOKENS_MAX, 4],
  ] as const)
    test(`${folder} has at most ${most} tokens`, () => {
      const counts = files
        .filter((file) => file.startsWith(`${folder}/`))
        .map((file) => dropComments(file).match(TOKEN)!.length);
      const tokens = counts.reduce((sum, count) => sum + count, 0);
      assert.ok(counts.length > least && tokens <= most, `${tokens} tokens in ${counts.length} files`);
    });

  test(`a folder has at most ${FOLDER_FILES_MAX} files`, () => {
    assert.deepEqual(findCrowds(files, dirname, FOLDER_FILES_MAX), {});
  });

  test('no type has the name of another', () => {
    const types = files
      .filter((file) => file.startsWith('src/'))
      .flatMap((file) =>
        [...dropComments(file).matchAll(/^(?:export )?(?:interface|type|class|abstract class) (\w+)/gm)].map(
          ([, name]) => ({ name: name!, file }),
        ),
      );
    assert.deepEqual(
      findCrowds(types, ({ name }) => name, 1),
      {},
    );
  });

  test(`no function name stands more than ${FUNCTIONS_OF_A_NAME_MAX} times in src`, () => {
    const functions = files
      .filter((file) => file.startsWith('src/') && file.endsWith('.ts'))
      .flatMap((file) => listFunctions(file, read(file)).map((name) => ({ name, file })));
    const crowds = findCrowds(functions, ({ name }) => name, FUNCTIONS_OF_A_NAME_MAX);
    assert.deepEqual(Object.keys(crowds).toSorted(), SHARED_NAMES, JSON.stringify(crowds, null, 2));
    assert.ok(functions.length > 1000, `${functions.length} functions`);
  });

  test('the name of a maximum ends in MAX or Max', () => {
    const names = files.flatMap((file) =>
      [...dropComments(file).matchAll(/\b(?:[A-Z][A-Z0-9_]*_MOST|[a-z]\w*[a-z]Most)\b/g)].map(([name]) => name),
    );
    // Agents see the member of an answer that is too long.
    assert.deepEqual([...new Set(names)], ['bytesMost']);
  });

  test('functions are found by their names, however they are written', () => {
    const code = `function a() { const b = () => 1; const c = 1; }
      class D { constructor() {} e() {} get f() { return 1; } #g() {} h = () => 1; i = 1; }
      const j = { k() {}, get l() { return 1; }, m: () => 1, n: 1 };`;
    assert.equal(listFunctions('a.ts', code).join(' '), 'a b e f g h k l');
  });

  test('no file below src/store has the name of another, except counterparts of SQLite and PostgreSQL', () => {
    const sources = files.filter((file) => /^src\/store\/.*\.ts$/.test(file));
    const storeOf = (file: string): string => file.split('/')[2]!;
    const crowds = Object.values(findCrowds(sources, (file) => basename(file), 1));
    assert.deepEqual(
      crowds.filter((crowd) => crowd.map(storeOf).toSorted().join() !== 'postgres,sqlite'),
      [],
    );
  });

  test('words and openings that prose may not have are found in comments and texts, with their line', () => {
    const code = [
      '/** Of a tenant. */',
      "export const a = 'Nobody may do this.';",
      '// The service',
      '// goes on.',
      'export const nobody = `anew ${a}`;',
    ].join('\n');
    assert.deepEqual(findIn('a.ts', code), [
      'a.ts:1 begins with "Of"',
      'a.ts:3 "goes on"',
      'a.ts:2 "Nobody"',
      'a.ts:5 "anew"',
    ]);
  });

  test('words that prose may not have are found in names and comments of tests, and not in their data', () => {
    const code = [
      "suite('whatever it is', () => {",
      "  test(`nobody reads ${'goes on'}`, () => send('nobody here'));",
      '  // What is sent',
      "  refuses('so many of them', 'so many others');",
      '});',
    ].join('\n');
    const found = ['2 "goes on"', '2 "nobody"', '3 begins with "What"', '4 "so many"'];
    assert.deepEqual(
      findIn('test/a.test.ts', code).toSorted(),
      ['1 "whatever"', ...found].map((one) => `test/a.test.ts:${one}`),
    );
    assert.deepEqual(findIn('test/slow.ts', "const slow = [{ reason: 'dearer than others' }];"), [
      'test/slow.ts:1 "dearer"',
    ]);
  });

  test('words that prose may not have are found in the comments of SQL, those below each other as one', () => {
    const code = "CREATE TABLE A (B TEXT); -- One row goes\n-- on\n\n-- Of a tenant\nSELECT 'nobody';\n";
    assert.deepEqual(findIn('a.sql', code), ['a.sql:1 "goes on"', 'a.sql:4 begins with "Of"']);
  });
});
