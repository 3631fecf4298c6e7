/**
 * Carries out the Dockerfile without an engine: every stage is a folder, every RUN a chroot into it. The base image of
 * the build is a Debian made by debootstrap with Node and npm, and `scratch` is an empty folder. An unknown instruction
 * or option is a fault. STOREROOM_TEST_DEBIAN names a root that debootstrap has already made, which saves minutes.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { copyContext } from './image-context.ts';
import { readDockerfile, type Instruction } from './texts.ts';

const SUITE = 'bookworm';
const MIRROR = 'http://deb.debian.org/debian';
/** Instructions that only describe the image. */
const DESCRIPTIONS = ['ENTRYPOINT', 'CMD', 'ENV', 'EXPOSE', 'HEALTHCHECK', 'LABEL', 'STOPSIGNAL', 'USER', 'VOLUME'];
const KNOWN_OPTIONS = ['from', 'chown', 'mount', 'interval', 'timeout', 'start-period', 'start-interval'];

interface Stage {
  readonly root: string;
  folder: string;
}

/** Carries out the Dockerfile below a folder, and returns the root of the last stage. */
export function buildImage(parent: string): string {
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const instruction of readDockerfile()) {
    const { name, options, text } = instruction;
    for (const option of Object.keys(options)) assert.ok(KNOWN_OPTIONS.includes(option), `--${option}`);
    if (name === 'FROM') {
      const [, base = '', alias = 'last'] = /^(\S+)(?: AS (\S+))?$/.exec(text) ?? [];
      stage = { root: join(parent, alias), folder: '/' };
      stages.set(alias, stage);
      makeBase(base, stage.root);
    } else if (stage === undefined) assert.fail(`${name} before FROM`);
    else if (name === 'RUN') runInside(stage, text);
    else if (name === 'COPY') copy(instruction, stage, stages);
    else if (name === 'WORKDIR') {
      stage.folder = resolve(stage.folder, text);
      mkdirSync(join(stage.root, stage.folder), { recursive: true });
    } else assert.ok(name === 'ARG' || DESCRIPTIONS.includes(name), `this does not know ${name}`);
  }
  return stage!.root;
}

function makeBase(image: string, root: string): void {
  if (image === 'scratch') {
    mkdirSync(root);
    return;
  }
  assert.equal(image, `node:24-${SUITE}-slim`);
  const made = process.env['STOREROOM_TEST_DEBIAN'];
  if (made) run('cp', '-a', made, root);
  else run('debootstrap', '--variant=minbase', '--include=ca-certificates', SUITE, root, MIRROR);
  // The base image has Node and npm in /usr/local.
  cpSync(realpathSync(process.execPath), join(root, 'usr/local/bin/node'));
  const npm = dirname(dirname(realpathSync(run('sh', '-c', 'command -v npm').trim())));
  cpSync(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, 'usr/local/bin', name));
}

/** Runs a command in separate namespaces, with the network, the certificates and npm's cache of this machine. */
function runInside({ root, folder }: Stage, command: string): void {
  const cache = run('npm', 'config', 'get', 'cache').trim();
  mkdirSync(cache, { recursive: true });
  mkdirSync(join(root, 'root/.npm'), { recursive: true });
  const script = `set -e
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount --bind "$3" "$1/root/.npm"
    cp -L /etc/resolv.conf "$1/etc/resolv.conf"
    mount --rbind /etc/ssl/certs "$1/etc/ssl/certs"
    exec chroot "$1" /bin/sh -c 'cd "$1" && eval "$2"' sh "$2" "$4"`;
  run('unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh', root, folder, cache, command);
}

function copy({ options, text }: Instruction, to: Stage, stages: ReadonlyMap<string, Stage>): void {
  const words = text.split(' ');
  const target = join(to.root, resolve(to.folder, words.pop()!));
  mkdirSync(target, { recursive: true });
  for (const word of words) {
    if (options['from'] === undefined) copyContext(word, target);
    else run('cp', '-r', '--preserve=mode', `${stages.get(options['from'])!.root}${word}/.`, target);
    if (options['chown']) run('chown', '-R', options['chown'], target);
  }
}

/** Runs a program and returns its standard output. If it fails, throws an error with what it printed. */
export function run(program: string, ...words: readonly string[]): string {
  const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin`, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, stdout, stderr, error } = spawnSync(program, words, { encoding: 'utf8', env, maxBuffer: 1 << 26 });
  assert.equal(error, undefined, `This test runs ${program} (Debian: apt-get install debootstrap).`);
  assert.equal(status, 0, `${program} ${words.join(' ')}\n${stdout.slice(-3000)}\n${stderr.slice(-3000)}`);
  return stdout;
}
