/** Tests the package of the TypeScript client: its files, its size, and that it has no dependencies. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { CLIENT, installClient } from '../kit/client-package.ts';
import { loadBlocks } from '../kit/documents.ts';
import { temporaryFolder } from '../kit/service.ts';

const GZIPPED_MAX = 15_000;
const folder = temporaryFolder();
const installed = installClient(folder);
writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
const MODULES = join(CLIENT, '../node_modules');
const NODE_TYPES = ['--lib', 'esnext', '--typeRoots', join(MODULES, '@types'), '--types', 'node', '--skipLibCheck'];

/** Compiles programs that use the client. Throws the messages of the compiler. */
function compile(words: readonly string[], ...files: string[]): void {
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
  const all = ['--noEmit', ...strict, '--module', 'nodenext', '--target', 'es2022', ...words, ...files];
  execFileSync(join(MODULES, '.bin/tsc'), all, { encoding: 'utf8', cwd: folder });
}

const read = (file: string): string => readFileSync(join(installed, file), 'utf8');
const manifest = JSON.parse(read('package.json')) as Record<string, unknown>;

test(`all its JavaScript has at most ${GZIPPED_MAX / 1000} kB, gzipped`, () => {
  const files = globSync('dist/**/*.js', { cwd: installed });
  assert.ok(files.length > 5, String(files));
  const bytes = gzipSync(files.map(read).join('\n'), { level: 9 }).byteLength;
  assert.ok(bytes > 1000 && bytes <= GZIPPED_MAX, `${bytes} bytes`);
});

test('it has the version of the service, no dependencies, and every file that it names', () => {
  const root = JSON.parse(readFileSync(join(CLIENT, '../package.json'), 'utf8')) as { version: string };
  assert.equal(manifest['version'], root.version);
  assert.deepEqual(
    Object.keys(manifest).filter((name) => /dependencies/i.test(name)),
    [],
  );
  for (const target of Object.values((manifest['exports'] as Record<string, Record<string, string>>)['.']!))
    assert.ok(read(target).length > 0, target);
});

test('it imports only its own files, and uses nothing that only Node has', () => {
  for (const file of globSync('dist/**/*.{js,d.ts}', { cwd: installed })) {
    const text = read(file);
    for (const [, name] of text.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"]+)/g))
      assert.match(name!, /^\.\/[a-z]+\.(js|ts)$/, `${file}: ${name}`);
    assert.doesNotMatch(text, /\b(process|Buffer|require|global|__dirname)\b[.([]/, file);
  }
});

test('what npm packs has the compiled files, the README and the licence, and no sources', () => {
  const out = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: installed,
    encoding: 'utf8',
  });
  const [{ files }] = JSON.parse(out) as [{ files: { path: string }[] }];
  const paths = files.map(({ path }) => path);
  for (const path of ['package.json', 'README.md', 'LICENSE', 'dist/storeroom.js', 'dist/storeroom.d.ts'])
    assert.ok(paths.includes(path), path);
  assert.deepEqual(
    paths.filter((path) => !/^(dist\/[a-z]+\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(path)),
    [],
  );
});

test('a program in strict TypeScript compiles with its types, with those of Node and with those of browsers', () => {
  const program = `
import { deriveFulfillment, step, Storeroom, StoreroomError } from '@storeroom/client';
export async function main(client: Storeroom<{ orders: 'GIFT_NOTE' }>): Promise<string> {
  const [number] = await client.batch([{ operation: 'createOrder', body: { GIFT_NOTE: 'x' } },
    { operation: 'addLineItem', body: { ORDER_NUMBER: step(0).data } }], { signal: AbortSignal.timeout(5) });
  const { state } = deriveFulfillment(await client.orders.byStorefrontReference('#1'));
  return (await client.orders.get(number)).GIFT_NOTE + state + StoreroomError.name;
}
`;
  writeFileSync(join(folder, 'main.ts'), program);
  compile(['--lib', 'es2022,dom', '--types', ''], 'main.ts');
  compile(NODE_TYPES, 'main.ts');
});

test('the TypeScript of the guide and of the tutorial compiles in strict TypeScript', () => {
  const documents = ['connect-a-shop', 'keep-a-copy', 'ship-return-receive'].map((name) => `docs/${name}.md`);
  const programs = ['client/README.md', ...documents].flatMap((document) => {
    const blocks = loadBlocks(readFileSync(join(CLIENT, '..', document), 'utf8')).filter(
      ({ language }) => language === 'ts',
    );
    // All blocks of a document without a file name form one program.
    const whole = `${document.replaceAll('/', '-')}.ts`;
    return [...Map.groupBy(blocks, ({ file = whole }) => file)];
  });
  assert.ok(programs.length >= 6, String(programs.length));
  for (const [file, blocks] of programs) writeFileSync(join(folder, file), blocks.map(({ text }) => text).join('\n'));
  compile([...NODE_TYPES, '--allowImportingTsExtensions'], ...programs.map(([file]) => file));
});
