/** Tells costly work that its caller is gone. Half a connection is enough for the answer, so a mere FIN ends nothing. */
import type { Socket } from 'node:net';

const controllers = new WeakMap<Socket, AbortController>();

/** Aborted when the connection is closed. All calls of a connection share one, made when it is first asked for. */
export function signalOf(socket: Socket): AbortSignal {
  let controller = controllers.get(socket);
  if (!controller) {
    const made = (controller = new AbortController());
    controllers.set(socket, made);
    if (socket.destroyed) made.abort();
    else socket.once('close', () => made.abort());
  }
  return controller.signal;
}
