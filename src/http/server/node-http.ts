/**
 * The parts of node:http that the service uses. Importing it would read all its exports, one of which loads Node's
 * WebSocket client: 15 MB and 30 ms of every start.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
