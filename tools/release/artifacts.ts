/** Makes the files of a release: the packages for npm, an archive of each executable, licences, SBOM and notes. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { renderLicences } from './licences.ts';
import { renderOwnManifest, type RootManifest } from './manifests.ts';
import { renderSbom } from './sbom.ts';
import { listShipped } from './shipped.ts';
import { packTar, type TarFile } from './tar.ts';

const LICENCES = 'THIRD-PARTY-LICENSES.txt';

export interface Release {
  /** The checkout of the release. */
  readonly tree: string;
  readonly out: string;
  readonly version: string;
  readonly notes: string;
  /** Seconds since 1970: the time of every file of the release. */
  readonly time: number;
}

/** Makes the files, with the executables of these platforms. `nodes` caches the Nodes. */
export function makeArtifacts(release: Release, nodes: string, platforms: readonly string[]): void {
  const { tree, out, version, notes, time } = release;
  const env = {
    ...process.env,
    PATH: [join(nodes, '../../node_modules/.bin'), process.env['PATH']].join(delimiter),
    SOURCE_DATE_EPOCH: String(time),
  };
  const run = (program: string, ...words: string[]): void => {
    execFileSync(program, words, { cwd: tree, env, stdio: ['ignore', 'inherit', 'inherit'] });
  };
  const write = (name: string, content: string | Uint8Array): void => writeFileSync(join(out, name), content);
  write('RELEASE-NOTES.md', `# Storeroom ${version}\n\n${notes}\n`);

  run('npm', 'run', '--silent', 'build');
  const shipped = listShipped(tree);
  write(LICENCES, renderLicences(tree, dirname(dirname(process.execPath)), shipped));
  write(`storeroom-${version}.cdx.json`, renderSbom(tree, version, shipped, time));
  run('npm', 'run', '--silent', 'build:npm');
  const server = `storeroom-server-${version}.tgz`;
  copyFileSync(join(tree, 'build', server), join(out, server));

  run('tsc', '-p', 'client');
  run('node', 'tools/build/mcp.ts');
  const read = (path: string): object => JSON.parse(readFileSync(join(tree, path), 'utf8')) as object;
  for (const folder of ['client', 'mcp']) {
    const manifest = renderOwnManifest(read('package.json') as RootManifest, read(`${folder}/package.json`));
    const paths = globSync(['README.md', 'LICENSE', 'dist/**/*.*'], { cwd: join(tree, folder) });
    const files = [
      { path: 'package/package.json', bytes: Buffer.from(manifest), isProgram: false },
      ...paths.map((path) => describe('package', join(tree, folder), path)),
    ];
    write(`storeroom-${folder}-${version}.tgz`, packTar(files, time));
  }
  copyFileSync(join(tree, 'client-python/storeroom.py'), join(out, 'storeroom.py'));

  mkdirSync(nodes, { recursive: true });
  symlinkSync(nodes, join(tree, 'build/node'));
  run('npm', 'run', '--silent', 'build:executables', '--', ...platforms);
  for (const name of globSync('storeroom-*-{x64,arm64}', { cwd: join(tree, 'build') })) {
    const folder = name.replace('storeroom', `storeroom-${version}`);
    const files = ['LICENSE', 'NOTICE'].map((path) => describe(folder, tree, path));
    const program = { ...describe(folder, join(tree, 'build'), name), path: `${folder}/storeroom`, isProgram: true };
    write(`${folder}.tar.gz`, packTar([...files, program, describe(folder, out, LICENCES)], time));
  }
}

function describe(folder: string, source: string, path: string): TarFile {
  return { path: `${folder}/${path}`, bytes: readFileSync(join(source, path)), isProgram: false };
}
