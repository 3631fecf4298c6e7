/** The files of a release: the packages for npm, an archive of each executable, licences, SBOM and notes. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { renderLicences } from './licences.ts';
import { renderSbom } from './sbom.ts';
import { listShipped } from './shipped.ts';
import { packTar } from './tar.ts';

interface Order {
  /** The checkout of the release. */
  readonly tree: string;
  readonly out: string;
  readonly version: string;
  readonly notes: string;
  readonly time: number;
  readonly environment: NodeJS.ProcessEnv;
}

export function makeArtifacts(order: Order): void {
  const { tree, out, version, notes, time, environment } = order;
  const run = (script: string): void => {
    execFileSync('npm', ['run', '--silent', script], {
      cwd: tree,
      env: environment,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  };
  const write = (name: string, content: string | Uint8Array): void => writeFileSync(join(out, name), content);
  const shipped = listShipped(tree);
  write('THIRD-PARTY-LICENSES.txt', renderLicences(tree, dirname(dirname(process.execPath)), shipped));
  write(`storeroom-${version}.cdx.json`, renderSbom(tree, version, shipped, time));
  write('RELEASE-NOTES.md', `# Storeroom ${version}\n\n${notes}\n`);
  run('build');
  run('build:npm');
  const server = `storeroom-server-${version}.tgz`;
  copyFileSync(join(tree, 'build', server), join(out, server));

  execFileSync('tsc', ['-p', 'client'], { cwd: tree, env: environment, stdio: ['ignore', 'inherit', 'inherit'] });
  const client = join(tree, 'client');
  const files = globSync(['package.json', 'README.md', 'LICENSE', 'dist/**/*.*'], { cwd: client }).map((path) => ({
    path: `package/${path}`,
    bytes: readFileSync(join(client, path)),
    isProgram: false,
  }));
  write(`storeroom-client-${version}.tgz`, packTar(files, time));
}
