/**
 * Calls over a fixed number of kept-alive connections, for tests that put load on the service: node:http directly, since fetch costs more than the
 * service does. Every answer is checked against the contract, as in service.ts. A call that gets no whole answer throws.
 */
import { Agent, request as openRequest } from 'node:http';
import { Contract } from '../contract.ts';
import { basicOf } from '../operations.ts';
import { BASE_PATH, type Answer, type CallOptions, type Keys, type Service } from '../service.ts';

const ANSWER_MS = 60_000;

export class HttpClient {
  readonly #service: Service;
  readonly #contract: Contract;
  readonly #agent: Agent;

  private constructor(service: Service, contract: Contract, connections: number) {
    this.#service = service;
    this.#contract = contract;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  static async open(service: Service, connections: number): Promise<HttpClient> {
    return new HttpClient(service, await Contract.load(service.origin), connections);
  }

  /** One call with Basic credentials and teamID of these keys. */
  call(keys: Keys, method: string, path: string, { query, body, headers }: CallOptions = {}): Promise<Answer> {
    const parameters = Array.isArray(query) ? query : Object.entries(query ?? {});
    return this.request(method, path, { query: [['teamID', keys.teamID], ...parameters], body, headers: { authorization: basicOf(keys), ...headers } });
  }

  /** One call with nothing added. */
  async request(method: string, path: string, { query, body, headers }: CallOptions = {}): Promise<Answer> {
    const search = new URLSearchParams(query).toString();
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await this.#send(method, `${BASE_PATH}${path}${search === '' ? '' : `?${search}`}`, text, headers ?? {});
    this.#contract.check(method, BASE_PATH + path, answer);
    return answer;
  }

  /** Lets go of connections that wait for their next call. */
  close(): void {
    this.#agent.destroy();
  }

  #send(method: string, path: string, body: string | undefined, headers: Record<string, string>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const all = body === undefined ? headers : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers };
      const request = openRequest(this.#service.origin + path, { method, agent: this.#agent, headers: all, timeout: ANSWER_MS }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('error', reject).on('end', () => {
          if (!response.complete) return reject(new Error('The answer was cut short.'));
          const pairs = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
          resolve({ status: response.statusCode!, headers: new Headers(pairs), text, body: JSON.parse(text) });
        });
      });
      request.on('error', reject).on('timeout', () => request.destroy(new Error(`No answer within ${ANSWER_MS} ms.`)));
      request.end(body);
    });
  }
}
