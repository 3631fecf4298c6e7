/**
 * Connections: the requests of one are answered one after the other, and the next begins when its client has taken the
 * answer before. What waits, and how long, is bounded. Source: RFC 9112 section 9.3.2, docs/decisions/0029.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { every, type Clock } from '../../clock.ts';
import { createServer } from './node-http.ts';

/** Requests that wait behind the one being answered: of a connection, and of all. Node parses 64 KiB at once. */
const WAITING_MAX = 512;
const WAITING_IN_ALL_MAX = 2048;
/** An answer of which nothing is taken from look to look, so many times in a row, ends its connection: 30 s. */
const LOOK_MS = 5000;
const UNTAKEN_LOOKS_MAX = 6;
/** Milliseconds a request may take to arrive. */
const ARRIVAL = { headersTimeout: 5000, requestTimeout: 10_000, connectionsCheckingInterval: 1000 };

/** Node's mark on a socket it has stopped reading from. */
const PAUSED = '_paused';
/** What writes: it knows how much of a text is still to be taken, the socket only how many texts are. */
const HANDLE = '_handle';
const LINE = Symbol('line');
const EXPECTING = Symbol('expecting');

/** What a connection is doing. */
interface Line {
  isBusy: boolean;
  /** The request being answered, once Fastify has it. */
  request: FastifyRequest | undefined;
  caller: AbortController | undefined;
  readonly waiting: [IncomingMessage, ServerResponse][];
  /** Bytes that were to be taken at the last look, and looks in a row at which they were as many. */
  untaken: number;
  looks: number;
  /** Runs when the answer is taken, or its connection has ended. */
  readonly next: () => void;
}
/** A socket of Node's HTTP server, with the members by which it stops reading from one. */
interface LinedSocket extends Socket {
  [LINE]: Line;
  [PAUSED]: boolean;
  readonly [HANDLE]: { readonly writeQueueSize: number } | null;
  readonly parser: { resume(): void } | null;
}
type ExpectingMessage = IncomingMessage & { [EXPECTING]?: ServerResponse };

/** More requests sent ahead than may wait, or an answer that nobody takes. */
export type EndedFor = 'pipeline' | 'untaken';

interface ConnectionOptions {
  readonly clock: Clock;
  readonly maxHeaderSize: number;
  readonly keepAliveMs: number;
  /** Answers a request by itself when the service is too busy to begin it, and tells whether it has. */
  readonly refuse: (message: IncomingMessage, response: ServerResponse) => boolean;
  /** Gets every request whose answer is taken, or whose connection has ended. */
  readonly onClosed: (request: FastifyRequest) => void;
  /** Told of a connection that is ended, and why. */
  readonly onEnded: (reason: EndedFor) => void;
}

/** Notes which request the connection is answering. */
export function attach(request: FastifyRequest): void {
  (request.raw.socket as LinedSocket)[LINE].request = request;
}

/** Aborted when the caller's connection is closed: a mere FIN ends nothing, as half a connection takes an answer. */
export const signalOf = ({ request }: FastifyReply): (() => AbortSignal) => {
  const socket = request.raw.socket as LinedSocket;
  return () => {
    const caller = (socket[LINE].caller ??= new AbortController());
    if (socket.destroyed) caller.abort();
    return caller.signal;
  };
};

/** Tells a client that asked whether it may send its body (`Expect: 100-continue`) to do so. */
export const invite = (message: ExpectingMessage): void => message[EXPECTING]?.writeContinue();

export function createLinedServer(handle: RequestListener, options: ConnectionOptions): Server {
  const { clock, maxHeaderSize, keepAliveMs, refuse, onClosed, onEnded } = options;
  const open = new Set<LinedSocket>();
  let waitingInAll = 0;

  const begin = (line: Line, message: IncomingMessage, response: ServerResponse): void => {
    line.isBusy = true;
    response.on('close', line.next);
    if (!refuse(message, response)) handle(message, response);
  };
  const end = (socket: LinedSocket, reason: EndedFor): void => {
    // Node has parsed more of them than one.
    if (!socket.destroyed) onEnded(reason);
    socket.destroy();
  };
  const goOn = (socket: LinedSocket, line: Line): void => {
    line.isBusy = false;
    if (line.request) onClosed(line.request);
    line.request = undefined;
    // After an answer that ends the connection, nothing follows.
    const following = socket.writable ? line.waiting.shift() : undefined;
    if (!following) return;
    waitingInAll--;
    if (line.waiting.length === 0) readOn(socket);
    begin(line, ...following);
  };
  const take = (message: IncomingMessage, response: ServerResponse): void => {
    const socket = message.socket as LinedSocket;
    const line = socket[LINE];
    if (!line.isBusy) return begin(line, message, response);
    if (line.waiting.length >= WAITING_MAX || waitingInAll >= WAITING_IN_ALL_MAX) return end(socket, 'pipeline');
    waitingInAll += 1;
    line.waiting.push([message, response]);
    stopReading(socket);
  };

  const server = createServer({ ...ARRIVAL, maxHeaderSize, requireHostHeader: false, keepAliveTimeout: keepAliveMs });
  // A client that has sent all it will send still gets its answer. Node has no documented name for it.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  server.on('connection', (socket: LinedSocket) => {
    const line: Line = {
      isBusy: false,
      request: undefined,
      caller: undefined,
      waiting: [],
      untaken: 0,
      looks: 0,
      next: () => goOn(socket, line),
    };
    socket[LINE] = line;
    open.add(socket);
    // Node reads on after each answer that had to wait.
    socket.on('drain', () => line.waiting.length > 0 && stopReading(socket));
    socket.on('close', () => {
      open.delete(socket);
      line.caller?.abort();
      waitingInAll -= line.waiting.splice(0).length;
    });
  });
  server.on('request', take);
  server.on('checkContinue', (message: ExpectingMessage, response) => {
    message[EXPECTING] = response;
    take(message, response);
  });
  // RFC 9110 lets a server ignore an unknown Expect; Node's own handler would answer without a body.
  server.on('checkExpectation', take);
  // No path takes it. Node would close the connection without a word.
  server.on('connect', (_message, socket) => server.emit('clientError', { code: 'CONNECT' }, socket));
  // A timeout of each socket would cost every request, and Node's own waits twice as long when a part was taken.
  every(clock, LOOK_MS, () => {
    for (const socket of open) if (isStuck(socket)) end(socket, 'untaken');
  });
  return server;
}

/** Takes a look. A call that takes long to answer is not stuck. */
function isStuck(socket: LinedSocket): boolean {
  const line = socket[LINE];
  const untaken = socket[HANDLE]?.writeQueueSize ?? 0;
  line.looks = untaken > 0 && untaken === line.untaken ? line.looks + 1 : 0;
  line.untaken = untaken;
  return line.looks >= UNTAKEN_LOOKS_MAX;
}

/** Node's own way of stopping a flood: `pause` alone would be undone when the body of a request is read. */
function stopReading(socket: LinedSocket): void {
  socket[PAUSED] = true;
  socket.pause();
}

function readOn(socket: LinedSocket): void {
  if (!socket[PAUSED]) return;
  socket[PAUSED] = false;
  socket.parser?.resume();
  socket.resume();
}
