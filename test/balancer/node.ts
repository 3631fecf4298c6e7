/**
 * One of several `storeroom serve` over one database, which comes back on the port it had, as a balancer expects; and
 * calls through that balancer. Every answer is checked against the contract. Judges nothing else.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as openRequest } from 'node:https';
import { fileURLToPath } from 'node:url';
import { Contract } from '../kit/contract.ts';
import { basicOf } from '../kit/operations.ts';
import { BASE_PATH, type Answer, type CallOptions, type Keys } from '../kit/service.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const ANSWER_MS = 30_000;

const children = new Set<ChildProcess>();
// A test that fails before its nodes are stopped leaves nothing behind.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

export class ServiceNode {
  readonly #env: Record<string, string>;
  #process: ChildProcess | undefined;
  /** `address:port`. */
  host = '127.0.0.1:0';

  private constructor(env: Record<string, string>) {
    this.#env = env;
  }

  static async start(env: Record<string, string>): Promise<ServiceNode> {
    const node = new ServiceNode({ STOREROOM_DEMO: 'off', STOREROOM_DRAIN_MS: '500', ...env });
    await node.restart();
    return node;
  }

  get origin(): string {
    return `http://${this.host}`;
  }

  async restart(): Promise<void> {
    const [, port = '0'] = this.host.split(':');
    const child = spawn(process.execPath, [MAIN, 'serve', '--port', port], {
      env: { ...process.env, ...this.#env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    children.add(child);
    child.once('exit', () => children.delete(child));
    let printed = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (printed += text));
    await new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`The service ended with ${code}:\n${printed}`)));
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        const host = /Base URL\s+http:\/\/([^/\s]+)/.exec(printed)?.[1];
        if (host === undefined) return;
        this.host = host;
        resolve();
      });
    });
  }

  /** Ends with a signal; resolves to the exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const child = this.#process!;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const ended = once(child, 'exit') as Promise<[number | null]>;
    child.kill(signal);
    return (await ended)[0];
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process!.kill(signal);
  }
}

/** Calls to a balancer that speaks TLS with a certificate of its own. */
export class BalancerClient {
  readonly #origin: string;
  readonly #contract: Contract;
  readonly #agent: Agent;

  private constructor(origin: string, contract: Contract, agent: Agent) {
    this.#origin = origin;
    this.#contract = contract;
    this.#agent = agent;
  }

  /** Keeps that many connections, or takes a new one for every call. */
  static async open(
    { origin, certificate }: { origin: string; certificate: string },
    node: ServiceNode,
    connections?: number,
  ): Promise<BalancerClient> {
    const agent = new Agent({
      ca: certificate,
      keepAlive: connections !== undefined,
      maxSockets: connections ?? Infinity,
    });
    return new BalancerClient(origin, await Contract.load(node.origin), agent);
  }

  /** One call with Basic credentials and teamID of these keys. */
  call(keys: Keys, method: string, path: string, { query, body, headers }: CallOptions = {}): Promise<Answer> {
    const parameters = Array.isArray(query) ? query : Object.entries(query ?? {});
    return this.request(method, path, {
      query: [['teamID', keys.teamID], ...parameters],
      body,
      headers: { authorization: basicOf(keys), ...headers },
    });
  }

  /** One call with nothing added. Throws when there is no whole answer. */
  async request(method: string, path: string, { query, body, headers = {} }: CallOptions = {}): Promise<Answer> {
    const search = new URLSearchParams(query).toString();
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const all =
      text === undefined
        ? headers
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)), ...headers };
    const target = `${this.#origin}${BASE_PATH}${path}${search === '' ? '' : `?${search}`}`;
    const answer = await new Promise<Answer>((resolve, reject) => {
      const request = openRequest(
        target,
        { method, agent: this.#agent, headers: all, timeout: ANSWER_MS },
        (response) => {
          let received = '';
          response.setEncoding('utf8').on('data', (part: string) => (received += part));
          response.on('error', reject).on('end', () => {
            const pairs = Object.entries(response.headers).map(([name, value]): [string, string] => [
              name,
              String(value),
            ]);
            resolve({
              status: response.statusCode!,
              headers: new Headers(pairs),
              text: received,
              body: JSON.parse(received),
            });
          });
        },
      );
      request.on('error', reject).on('timeout', () => request.destroy(new Error(`No answer within ${ANSWER_MS} ms.`)));
      request.end(text);
    });
    this.#contract.check(method, BASE_PATH + path, answer);
    return answer;
  }

  close(): void {
    this.#agent.destroy();
  }
}
