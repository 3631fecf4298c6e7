/**
 * The parts of node:http that the service uses. An import would also load Node's WebSocket client, which takes 15 MB
 * and adds 30 ms to every start. Only this file uses members that Node does not document: each bounds the cost of a
 * connection, and no documented one does. A test fails when a release of Node changes one: limits/node-private.test.ts.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

/** Node's own mark on a socket that it has stopped reading. */
const PAUSED = '_paused';
const HANDLE = '_handle';
interface PrivateSocket extends Socket {
  [PAUSED]: boolean;
  readonly [HANDLE]: { readonly writeQueueSize: number } | null;
  readonly parser: { resume(): void } | null;
}

/** Lets a client that has sent all its requests and closed its half of the connection still receive the responses. */
export function allowHalfOpen(server: Server): void {
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
}

/**
 * Returns the bytes that the operating system has not yet accepted. `writableLength` counts a complete chunk until its
 * last byte is accepted.
 */
export const countUntakenBytes = (socket: Socket): number => (socket as PrivateSocket)[HANDLE]?.writeQueueSize ?? 0;

/** Stops reading requests. `pause` alone would be undone when the body of a request is read. */
export function stopReading(socket: Socket): void {
  (socket as PrivateSocket)[PAUSED] = true;
  socket.pause();
}

export function resumeReading(socket: Socket): void {
  const stopped = socket as PrivateSocket;
  if (!stopped[PAUSED]) return;
  stopped[PAUSED] = false;
  stopped.parser?.resume();
  stopped.resume();
}
