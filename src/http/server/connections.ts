/**
 * Begin here: a connection answers its requests one after the other, and begins the next when the previous response is
 * received. A response counts as received when the operating system has all its bytes. The number of waiting requests
 * and their wait are bounded. Source: RFC 9112 section 9.3.2, decision 0029.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { every, type Clock } from '../../clock.ts';
import { createServer, allowHalfOpen, countUntakenBytes, resumeReading, stopReading } from './node-http.ts';

/** Maximum requests that wait for the one being answered, on one connection and on all. Node parses 64 KiB at once. */
const WAITING_MAX = 512;
const WAITING_IN_ALL_MAX = 2048;
/**
 * The interval of checks, and the number of checks without progress, 30 s in total, after which a connection ends
 * because its client does not read.
 */
const LOOK_MS = 5000;
const UNTAKEN_LOOKS_MAX = 6;
/** Milliseconds that a request may take to arrive. */
const ARRIVAL = { headersTimeout: 5000, requestTimeout: 10_000, connectionsCheckingInterval: 1000 };

const CONNECTION = Symbol('connection');

interface ServedConnection {
  /** The response that is being sent or prepared. */
  response: ServerResponse | undefined;
  /** The request being answered, once Fastify has it. */
  request: FastifyRequest | undefined;
  caller: AbortController | undefined;
  readonly waiting: [IncomingMessage, ServerResponse][];
  /**
   * Bytes that were not yet received at the last check, and the number of checks in a row with the same bytes.
   */
  untaken: number;
  looks: number;
  /** Runs when the response is received, or the connection has ended. */
  readonly next: () => void;
}
interface ServedSocket extends Socket {
  [CONNECTION]: ServedConnection;
}

/** The reason for ending a connection: too many requests sent ahead, or a response that the client does not read. */
export type EndedFor = 'pipeline' | 'untaken';

interface HttpServerOptions {
  readonly clock: Clock;
  readonly maxHeaderSize: number;
  readonly keepAliveMs: number;
  /** Responds to a request if the service is too busy to begin it. Returns whether it did. */
  readonly refuseWhenFull: (message: IncomingMessage, response: ServerResponse) => boolean;
  /** Receives each request whose response is received, or whose connection has ended. */
  readonly onClosed: (request: FastifyRequest) => void;
  readonly onEnded: (reason: EndedFor) => void;
}

const connectionOf = (socket: Socket): ServedConnection => (socket as ServedSocket)[CONNECTION];

/** Notes which request the connection is answering. */
export function attach(request: FastifyRequest): void {
  connectionOf(request.raw.socket).request = request;
}

/** Returns a getter of a signal that aborts when the connection closes. A FIN does not: a response can still arrive. */
export const signalOf = ({ request }: FastifyReply): (() => AbortSignal) => {
  const { socket } = request.raw;
  return () => {
    const caller = (connectionOf(socket).caller ??= new AbortController());
    if (socket.destroyed) caller.abort();
    return caller.signal;
  };
};

/** Returns whether part of a response has been sent on the connection, so that another one may not begin. */
export function isAnswering(socket: Socket): boolean {
  const { response } = connectionOf(socket);
  return response !== undefined && response.headersSent && !response.writableFinished;
}

/** Requests whose client waits for permission to send the body (`Expect: 100-continue`). */
const expecting = new WeakMap<IncomingMessage, ServerResponse>();
/** Allows a client that asked for permission to send its body. */
export const invite = (message: IncomingMessage): void => expecting.get(message)?.writeContinue();

export function createConnectionServer(handle: RequestListener, options: HttpServerOptions): Server {
  const { clock, maxHeaderSize, keepAliveMs, refuseWhenFull, onClosed, onEnded } = options;
  const open = new Set<Socket>();
  let waitingInAll = 0;

  const beginRequest = (connection: ServedConnection, message: IncomingMessage, response: ServerResponse) => {
    connection.response = response;
    response.on('close', connection.next);
    if (!refuseWhenFull(message, response)) handle(message, response);
  };
  const end = (socket: Socket, reason: EndedFor) => {
    // Node may have parsed several requests beyond the limit.
    if (!socket.destroyed) onEnded(reason);
    socket.destroy();
  };
  const beginNext = (socket: Socket, connection: ServedConnection) => {
    connection.response = undefined;
    if (connection.request) onClosed(connection.request);
    connection.request = undefined;
    // A response may have ended the connection.
    const following = socket.writable ? connection.waiting.shift() : undefined;
    if (!following) return;
    waitingInAll--;
    if (connection.waiting.length === 0) resumeReading(socket);
    beginRequest(connection, ...following);
  };
  const receive = (message: IncomingMessage, response: ServerResponse) => {
    const { socket } = message;
    const connection = connectionOf(socket);
    if (!connection.response) return beginRequest(connection, message, response);
    if (connection.waiting.length >= WAITING_MAX || waitingInAll >= WAITING_IN_ALL_MAX) return end(socket, 'pipeline');
    waitingInAll++;
    connection.waiting.push([message, response]);
    stopReading(socket);
  };

  const server = createServer({ ...ARRIVAL, maxHeaderSize, requireHostHeader: false, keepAliveTimeout: keepAliveMs });
  allowHalfOpen(server);
  server.on('connection', (socket: ServedSocket) => {
    const connection: ServedConnection = {
      response: undefined,
      request: undefined,
      caller: undefined,
      waiting: [],
      untaken: 0,
      looks: 0,
      next: () => beginNext(socket, connection),
    };
    socket[CONNECTION] = connection;
    open.add(socket);
    // Node resumes reading after each response that had to wait.
    socket.on('drain', () => connection.waiting.length > 0 && stopReading(socket));
    socket.on('close', () => {
      open.delete(socket);
      connection.caller?.abort();
      waitingInAll -= connection.waiting.splice(0).length;
    });
  });
  server.on('request', receive);
  server.on('checkContinue', (message: IncomingMessage, response) => {
    expecting.set(message, response);
    receive(message, response);
  });
  // RFC 9110 lets a server ignore an unknown Expect; Node's own handler would answer without a body.
  server.on('checkExpectation', receive);
  // No path supports CONNECT. Node would close the connection without a response.
  server.on('connect', (_message, socket) => server.emit('clientError', { code: 'CONNECT' }, socket));
  // A timeout for each socket would slow down every request, and Node's own timeout waits twice as long if a part was
  // received.
  every(clock, LOOK_MS, () => {
    for (const socket of open) if (isStuck(socket)) end(socket, 'untaken');
  });
  return server;
}

/** Returns whether the client has stopped reading a response. A call that takes long is not stuck. */
function isStuck(socket: Socket): boolean {
  const connection = connectionOf(socket);
  const untaken = countUntakenBytes(socket);
  connection.looks = untaken > 0 && untaken === connection.untaken ? connection.looks + 1 : 0;
  connection.untaken = untaken;
  return connection.looks >= UNTAKEN_LOOKS_MAX;
}
