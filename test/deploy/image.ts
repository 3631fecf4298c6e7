/**
 * `npm run test:image`: carries out the Dockerfile step by step, and runs its image as an engine would: as process 1,
 * with its own user, no capabilities and a read-only root. Needs Linux, root and Debian's debootstrap.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { readUntil } from '../kit/printed.ts';
import { findFreePort } from '../kit/raw-http.ts';
import { BASE_PATH, temporaryFolder } from '../kit/service.ts';
import { buildImage, run } from './image-root.ts';
import { readImage } from './texts.ts';

const MEGABYTES_MAX = 140;

const image = readImage();
const parent = temporaryFolder();
const data = join(parent, 'volume');
const children: ChildProcess[] = [];
let root: string;

/** A container: the process of unshare, the first process of its namespaces, and what it printed at first. */
interface Container {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly origin: string;
  readonly env: NodeJS.ProcessEnv;
  readonly output: string;
}

async function start(): Promise<Container> {
  const port = `${await findFreePort()}`;
  const env = { ...image.env, STOREROOM_PORT: port };
  const script = `set -e
    mount --bind "$1" "$1"
    mount --bind "$2" "$1${image.folder}"
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -o remount,bind,ro "$1"
    shift 2; exec "$@"`;
  const container = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh', root, data];
  const user = ['setpriv', '--no-new-privs', 'unshare', `--setuid=${image.uid}`, `--setgid=${image.gid}`];
  const inside = [
    `--root=${root}`,
    `--wd=${image.folder}`,
    `/usr/local/bin/${image.words[0]}`,
    ...image.words.slice(1),
  ];
  const child = spawn('/usr/bin/unshare', [...container, ...user, ...inside], {
    env: { ...env, PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin' },
  });
  children.push(child);
  const output = await readUntil(child, /Base URL[^]*\n\n/);
  const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim());
  return { process: child, pid, origin: `http://127.0.0.1:${port}`, env, output };
}

/** Runs a command in a container, as `docker exec` would. */
function execute({ pid, env }: Container, words: readonly string[]) {
  const inside = ['-t', `${pid}`, '--mount', '--pid', '--root', `--wdns=${image.folder}`];
  const user = ['-S', `${image.uid}`, '-G', `${image.gid}`];
  return spawnSync('/usr/bin/nsenter', [...inside, ...user, `/usr/local/bin/${words[0]}`, ...words.slice(1)], {
    env,
    encoding: 'utf8',
  });
}

async function stop({ process: child, pid }: Container): Promise<number | null> {
  const ended = once(child, 'exit') as Promise<[number | null]>;
  process.kill(pid, image.stopSignal);
  return (await ended)[0];
}

suite('the image', () => {
  before(() => {
    root = buildImage(parent);
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, image.uid, image.gid);
    for (const name of ['proc', 'dev']) mkdirSync(join(root, name)); // engines make these
  });
  after(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(parent, { recursive: true, force: true });
  });

  test(`has files of at most ${MEGABYTES_MAX} MB, no shell, and no file that raises rights`, (t) => {
    const bytes = Number(run('du', '-sb', root).split('\t')[0]);
    t.diagnostic(`${(bytes / 1e6).toFixed(1)} MB`);
    assert.ok(bytes < MEGABYTES_MAX * 1e6, `${bytes} bytes`);
    assert.deepEqual(readdirSync(join(root, 'usr/local/bin')).toSorted(), ['node', 'storeroom']);
    assert.equal(run('find', root, '-name', 'sh', '-o', '-perm', '/6000'), '');
    assert.equal(run('find', root, '-perm', '-o=w', '-not', '-type', 'l').trim(), join(root, 'tmp'));
    assert.equal(run('find', root, '-uid', `${image.uid}`).trim(), join(root, image.folder));
  });

  test('runs as its user, without capabilities, and answers its health check', async () => {
    const container = await start();
    const status = readFileSync(`/proc/${container.pid}/status`, 'utf8');
    assert.match(status, new RegExp(`^Uid:\t${image.uid}\t`, 'm'));
    assert.match(status, /^CapEff:\t0+$/m);
    assert.match(readFileSync(`/proc/${container.pid}/mountinfo`, 'utf8'), / \/ ro,/, 'its root is read only');
    assert.match(status, /^NSpid:\t\d+\t1$/m, 'the service is process 1');
    const { status: code, stderr } = execute(container, image.health);
    assert.equal(code, 0, stderr);
    const [, user = ''] = /curl -u '([^']+)'/.exec(container.output) ?? [];
    const url = `${container.origin}${BASE_PATH}/orders/single?teamID=demo&orderNum=10248`;
    const answer = await fetch(url, { headers: { authorization: `Basic ${btoa(user)}` } });
    assert.equal(answer.status, 200);
    assert.equal((await fetch(`${container.origin}/dashboard/`)).status, 200);
    assert.equal((await fetch(`${container.origin}/docs`)).status, 200);
    assert.equal(await stop(container), 0);
  });

  test('SIGTERM ends it in order, and the writes of a command are there at the next start', async () => {
    const first = await start();
    const made = execute(first, ['storeroom', 'tenant', 'create', 'acme']);
    assert.equal(made.status, 0, made.stderr);
    assert.equal(await stop(first), 0);
    const second = await start();
    assert.match(execute(second, ['storeroom', 'tenant', 'list']).stdout, /^acme /m);
    assert.equal(await stop(second), 0);
    assert.equal(run('find', data, '-not', '-uid', `${image.uid}`), '');
  });

  test('its health check fails when the service hangs', async () => {
    const container = await start();
    process.kill(container.pid, 'SIGSTOP');
    assert.equal(execute(container, image.health).status, 1);
    process.kill(container.pid, 'SIGCONT');
    assert.equal(await stop(container), 0);
  });
});
