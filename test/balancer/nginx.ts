/**
 * Starts, reloads and stops nginx with the worked example of docs/nginx.conf, and reads its logs. Only addresses, port,
 * certificate and paths of files differ from the example.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { findFreePort } from '../kit/raw-http.ts';
import { temporaryFolder } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const EXAMPLE = join(import.meta.dirname, '../../docs/nginx.conf');
const ADDRESSES = ['10.0.0.11:8080', '10.0.0.12:8080', '10.0.0.13:8080'];

/** A line of the access log. It has several addresses if nginx sent the call more than once. */
export interface LoggedCall {
  readonly line: string;
  readonly status: number;
  readonly addresses: string[];
}

export class Nginx {
  readonly #folder = temporaryFolder();
  readonly #hosts: readonly string[];
  readonly #port: number;
  #process: ChildProcess | undefined;

  private constructor(port: number, hosts: readonly string[]) {
    this.#port = port;
    this.#hosts = hosts;
  }

  static assertInstalled(): void {
    for (const [program, argument] of Object.entries({ nginx: '-v', openssl: 'version' }))
      if (spawnSync(program, [argument]).status !== 0)
        throw new Error(
          `This test runs ${program}, which is not installed here (Debian: apt-get install nginx-light openssl).`,
        );
  }

  /** Starts nginx with a new certificate in front of these three hosts (`address:port`). */
  static async start(hosts: readonly string[]): Promise<Nginx> {
    const nginx = new Nginx(await findFreePort(), hosts);
    await nginx.#open();
    return nginx;
  }

  get origin(): string {
    return `https://127.0.0.1:${this.#port}`;
  }

  get certificate(): string {
    return readFileSync(join(this.#folder, 'tls.pem'), 'utf8');
  }

  async #open(): Promise<void> {
    const subject = ['-subj', '/CN=storeroom', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const files = ['-keyout', join(this.#folder, 'tls.key'), '-out', join(this.#folder, 'tls.pem')];
    const made = spawnSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...subject, ...files],
      { encoding: 'utf8' },
    );
    assert.equal(made.status, 0, made.stderr);
    writeFileSync(join(this.#folder, 'main.conf'), this.#writeMain());
    this.#writeExample([]);
    const child = spawn('nginx', ['-p', this.#folder, '-c', 'main.conf', '-e', join(this.#folder, 'main-error.log')], {
      stdio: 'inherit',
    });
    this.#process = child;
    process.once('exit', () => child.kill('SIGTERM'));
    await this.#untilListening();
  }

  /** Returns the part of nginx.conf that a distribution has around the files of conf.d. */
  #writeMain(): string {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
    const user = process.getuid!() === 0 ? 'user root;' : '';
    const http = `http { ${temporary.join(' ')} include example.conf; }`;
    return `${user} daemon off; worker_processes 2; pid nginx.pid; events {} ${http}`;
  }

  #writeExample(down: readonly string[]): void {
    let text = readFileSync(EXAMPLE, 'utf8');
    const replace = (from: string, to: string): void => {
      assert.equal(text.split(from).length, 2, `docs/nginx.conf has '${from}' once`);
      text = text.replace(from, to);
    };
    for (const [index, address] of ADDRESSES.entries()) {
      const host = this.#hosts[index]!;
      replace(`server ${address} `, `server ${host} ${down.includes(host) ? 'down ' : ''}`);
    }
    replace('listen 443 ', `listen 127.0.0.1:${this.#port} `);
    for (const end of ['pem', 'key']) replace(`/etc/ssl/pims.example.com.${end}`, join(this.#folder, `tls.${end}`));
    for (const log of ['storeroom.log', 'storeroom-error.log'])
      replace(`/var/log/nginx/${log}`, join(this.#folder, log));
    writeFileSync(join(this.#folder, 'example.conf'), text);
  }

  /** Marks exactly these hosts as `down`, and waits until the workers with the earlier configuration have ended. */
  async takeOut(...down: string[]): Promise<void> {
    this.#writeExample(down);
    const before = this.#workers();
    this.#process!.kill('SIGHUP');
    await until(() => this.#workers().every((pid) => !before.includes(pid)));
  }

  #workers(): string[] {
    const pid = this.#process!.pid!;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  }

  readCalls(): LoggedCall[] {
    const lines = readFileSync(join(this.#folder, 'storeroom.log'), 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => {
      const [, status, addresses] = /^\S+ \[[^\]]+\] "[^"]*" (\d{3}) \d+ [\d.]+ "([^"]*)"/.exec(line)!;
      return { line, status: Number(status), addresses: addresses!.split(/, | : /) };
    });
  }

  /** Returns everything that nginx has written to its logs. */
  readLogs(): string {
    const files = globSync('*.log', { cwd: this.#folder });
    return files.map((file) => readFileSync(join(this.#folder, file), 'utf8')).join('');
  }

  async stop(): Promise<void> {
    const ended = once(this.#process!, 'exit');
    this.#process!.kill('SIGTERM');
    await ended;
  }

  #untilListening(): Promise<void> {
    return until(async () => {
      assert.equal(this.#process!.exitCode, null, 'nginx ended; what it printed is above');
      const socket = connect(this.#port, '127.0.0.1');
      const isOpen = await new Promise<boolean>((resolve) =>
        socket.once('connect', () => resolve(true)).once('error', () => resolve(false)),
      );
      socket.destroy();
      return isOpen;
    });
  }
}
