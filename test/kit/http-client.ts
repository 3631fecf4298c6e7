/**
 * Makes calls over kept-alive connections, for load, with node:http, because fetch costs more than the service itself.
 * Each call goes to a random running node, as through a balancer. Every answer is checked against the contract. A call
 * without a whole answer throws NoAnswer.
 */
import * as http from 'node:http';
import * as https from 'node:https';
import { after } from 'node:test';
import { Contract } from './contract.ts';
import { basicOf } from './operations.ts';
import { BASE_PATH, type Answer, type CallOptions, type Keys, type Service } from './service.ts';

/** Reports that the connection was lost before the answer was whole. */
export class NoAnswer extends Error {
  /** Whether the call may have arrived. */
  readonly wasSent: boolean;
  constructor(cause: Error) {
    super(`No answer: ${cause.message}`, { cause });
    this.wasSent = (cause as NodeJS.ErrnoException).code !== 'ECONNREFUSED';
  }
}

type Server = Pick<Service, 'origin' | 'hasExited'>;

/** An answer, and the moments (`HttpClient.mark`) at which its call began and ended. */
export interface PlacedAnswer extends Answer {
  readonly method: string;
  readonly begunAt: number;
  readonly endedAt: number;
}

export class HttpClient {
  readonly #services: readonly Server[];
  readonly #contract: Contract;
  readonly #agent: http.Agent;
  /** Called with every answer. */
  onAnswer: ((answer: PlacedAnswer) => void) | undefined;
  #events = 0;
  /** Moments at which the calls without an answer began. */
  readonly #underWay = new Set<number>();

  private constructor(services: readonly Server[], contract: Contract, agent: http.Agent) {
    this.#services = services;
    this.#contract = contract;
    this.#agent = agent;
    after(() => agent.destroy());
  }

  /** Opens a client. Its connections end with the test file, or the test, that opens it. */
  static async open(services: Service | readonly Service[], connections: number): Promise<HttpClient> {
    const nodes = [services].flat();
    const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
    return new HttpClient(nodes, await Contract.load(nodes[0]!.origin), agent);
  }

  /** Opens a client of a balancer with its own TLS certificate. Without `connections`, each call opens its own. */
  static async through(
    { origin, certificate: ca }: { origin: string; certificate: string },
    node: Service,
    connections?: number,
  ): Promise<HttpClient> {
    const agent = new https.Agent({ ca, keepAlive: connections !== undefined, maxSockets: connections ?? Infinity });
    return new HttpClient([{ origin, hasExited: false }], await Contract.load(node.origin), agent);
  }

  /** Returns a number for this moment, which is greater than the numbers of earlier moments. */
  mark(): number {
    return ++this.#events;
  }

  /** Returns the moment at which the oldest call without an answer began, or else the latest moment. */
  oldest(): number {
    const [oldest = this.#events] = this.#underWay;
    return oldest;
  }

  /** Makes a call with Basic credentials and the teamID of these keys. */
  call(keys: Keys, method: string, path: string, { query, body, headers }: CallOptions = {}): Promise<Answer> {
    const parameters = Array.isArray(query) ? query : Object.entries(query ?? {});
    return this.request(method, path, {
      query: [['teamID', keys.teamID], ...parameters],
      body,
      headers: { authorization: basicOf(keys), ...headers },
    });
  }

  /** Makes a call with nothing added. */
  async request(method: string, path: string, { query, body, headers }: CallOptions = {}): Promise<Answer> {
    const search = new URLSearchParams(query).toString();
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const begunAt = this.mark();
    this.#underWay.add(begunAt);
    const target = `${BASE_PATH}${path}${search === '' ? '' : `?${search}`}`;
    const sending = this.#send(method, target, text, headers ?? {});
    const answer = await sending.finally(() => this.#underWay.delete(begunAt));
    this.#contract.check(method, BASE_PATH + path, answer);
    this.onAnswer?.({ ...answer, method, begunAt, endedAt: this.mark() });
    return answer;
  }

  #send(method: string, path: string, body: string | undefined, headers: Record<string, string>): Promise<Answer> {
    const running = this.#services.filter(({ hasExited }) => !hasExited);
    const nodes = running.length > 0 ? running : this.#services;
    const { origin } = nodes[Math.floor(Math.random() * nodes.length)]!;
    const { request: openRequest } = origin.startsWith('https:') ? https : http;
    return new Promise((resolve, refuse) => {
      const reject = (fault: Error): void => refuse(new NoAnswer(fault));
      const all =
        body === undefined
          ? headers
          : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers };
      const request = openRequest(origin + path, { method, agent: this.#agent, headers: all }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('error', reject).on('end', () => {
          if (!response.complete) return reject(new Error('The answer was cut short.'));
          const pairs = Object.entries(response.headers).map(([name, value]): [string, string] => [
            name,
            String(value),
          ]);
          resolve({ status: response.statusCode!, headers: new Headers(pairs), text, body: JSON.parse(text) });
        });
      });
      request.on('error', reject);
      request.end(body);
    });
  }
}
