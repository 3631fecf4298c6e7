/**
 * Makes a bare Debian in a folder with debootstrap, and runs commands there in separate namespaces: their mounts and
 * processes end with them. Commands use the network of this machine: its resolver, certificates and npm settings.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const MIRROR = 'http://deb.debian.org/debian';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const ISOLATED = ['--mount', '--pid', '--fork', '--kill-child'];
/** Settings of npm and environment variables that commands need to reach registries. */
const NPM_SETTINGS = ['registry', 'cafile', 'proxy', 'https-proxy', 'noproxy', 'strict-ssl'];
const VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
const EXTRA_CERTIFICATES = 'NODE_EXTRA_CA_CERTS';
/** The first shell stays root, because a process that changes its user would outlive unshare. */
const INTO = `set -e
  mount -t proc proc "$1/proc"
  mount --rbind /dev "$1/dev"
  cd /
  chroot --userspec="$2" "$1" /bin/sh -c 'cd "$1" && eval "$2"' sh "$3" "$4" || exit $?`;

export interface User {
  readonly name: string;
  readonly home: string;
  /** The number of the user and of its group. */
  readonly id: number;
}

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

export class Debian {
  readonly root: string;
  readonly #network: Record<string, string> = {};
  readonly #children = new Set<ChildProcess>();

  /** Makes a Debian in a folder that does not exist yet. It is removed when this process ends, if not earlier. */
  static async make(root: string, suite: string): Promise<Debian> {
    const debian = new Debian(root);
    const words = ['debootstrap', '--variant=minbase', suite, root, MIRROR];
    const { code, output } = await debian.#run(words, debian.#network);
    assert.equal(code, 0, `debootstrap (Debian: apt-get install debootstrap)\n${output.slice(-3000)}`);
    debian.#copyNetwork();
    return debian;
  }

  private constructor(root: string) {
    this.root = root;
    this.#findNetwork();
    process.once('exit', () => this.remove());
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  }

  /** Runs a shell command as a user, in a folder. `told` gets the output, and the process, which it may end. */
  run(
    user: User,
    folder: string,
    command: string,
    { env = {}, told }: { env?: Record<string, string>; told?: (output: string, child: ChildProcess) => void } = {},
  ): Promise<Ran> {
    const words = ['sh', '-c', INTO, 'sh', this.root, `${user.id}:${user.id}`, folder, command];
    return this.#run(words, { ...this.#network, ...env, HOME: user.home, USER: user.name }, told);
  }

  /** Ends all commands that run in the Debian, and removes it. */
  remove(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10 });
  }

  async #run(
    words: readonly string[],
    env: Record<string, string> = {},
    told: (output: string, child: ChildProcess) => void = () => undefined,
  ): Promise<Ran> {
    const child = spawn('unshare', [...ISOLATED, ...words], {
      env: { ...env, PATH, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#children.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        told(output, child);
      });
    const [code] = (await once(child, 'close')) as [number | null];
    this.#children.delete(child);
    return { code, output };
  }

  #findNetwork(): void {
    for (const name of NPM_SETTINGS) {
      const value = execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim();
      if (value !== '' && value !== 'null') this.#network[`npm_config_${name.replace('-', '_')}`] = value;
    }
    for (const name of [...VARIABLES, EXTRA_CERTIFICATES]) {
      const value = process.env[name];
      if (value !== undefined) this.#network[name] = value;
    }
  }

  #copyNetwork(): void {
    copyFileSync('/etc/resolv.conf', join(this.root, 'etc/resolv.conf'));
    // The copies have names that no package uses.
    for (const name of ['npm_config_cafile', EXTRA_CERTIFICATES]) {
      const file = this.#network[name];
      if (file === undefined) continue;
      this.#network[name] = `/srv/${name}`;
      copyFileSync(file, join(this.root, 'srv', name));
    }
  }
}
