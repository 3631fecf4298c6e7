/** Sends handwritten requests, as no client would send them, and reads the answers. It does not check the answers. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; undefined unless it is JSON. */
  body: any; // eslint-disable-line typescript/no-explicit-any -- tests look into it freely
}

/** Returns a request with these header lines, a Host unless they have one, and the Content-Length of its body. */
export function writeRequest(
  method: string,
  target: string,
  headers: readonly string[] = [],
  body: string | Buffer = '',
): Buffer {
  const host = headers.some((line) => /^host\s*:/i.test(line)) ? [] : ['Host: localhost'];
  const bytes = Buffer.from(body);
  const length = bytes.length > 0 ? [`Content-Length: ${bytes.length}`] : [];
  return Buffer.concat([
    Buffer.from([`${method} ${target} HTTP/1.1`, ...host, ...headers, ...length, '', ''].join('\r\n'), 'latin1'),
    bytes,
  ]);
}

export function openSocket(origin: string): Socket {
  const { hostname, port } = new URL(origin);
  return connect(Number(port), hostname);
}

/** Sends the bytes and returns the first `count` answers, or fewer if the service closes the connection before. */
export async function exchange(origin: string, bytes: Buffer | string, count = 1): Promise<RawAnswer[]> {
  const socket = openSocket(origin);
  socket.write(bytes);
  const answers = await readAnswers(socket, { count, bodiless: bytes.toString('latin1').startsWith('HEAD ') });
  socket.destroy();
  return answers;
}

/** Sends the bytes and returns the one answer. Throws if there is none. */
export async function send(origin: string, bytes: Buffer | string): Promise<RawAnswer> {
  const [answer] = await exchange(origin, bytes);
  if (!answer) throw new Error('The connection was closed without an answer.');
  return answer;
}

/** Reads answers until there are enough or the connection ends. Skips interim answers (100 Continue). */
export async function readAnswers(socket: Socket, { count = 1, bodiless = false } = {}): Promise<RawAnswer[]> {
  const answers: RawAnswer[] = [];
  let pending = Buffer.alloc(0);
  const { promise, resolve } = Promise.withResolvers<void>();
  const take = (chunk: Buffer): void => {
    pending = Buffer.concat([pending, chunk]);
    for (let end = pending.indexOf('\r\n\r\n'); end >= 0; end = pending.indexOf('\r\n\r\n')) {
      const [statusLine = '', ...lines] = pending.toString('latin1', 0, end).split('\r\n');
      const status = Number(statusLine.split(' ')[1]);
      const headers = new Headers(
        lines.map((line): [string, string] => [
          line.slice(0, line.indexOf(':')),
          line.slice(line.indexOf(':') + 1).trim(),
        ]),
      );
      const length = bodiless || status < 200 ? 0 : Number(headers.get('content-length') ?? 0);
      if (pending.length < end + 4 + length) return;
      const text = pending.toString('utf8', end + 4, end + 4 + length);
      pending = pending.subarray(end + 4 + length);
      if (status < 200) continue;
      answers.push({
        status,
        headers,
        text,
        body: headers.get('content-type')?.includes('json') && text !== '' ? JSON.parse(text) : undefined,
      });
      if (answers.length === count) return resolve();
    }
  };
  socket.on('data', take);
  // A connection that the service closes while bytes are still on their way ends with a reset.
  socket.on('error', () => resolve());
  socket.on('close', () => resolve());
  await promise;
  socket.off('data', take);
  return answers;
}

/** Returns a port that was free a moment ago. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
