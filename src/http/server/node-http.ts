/**
 * What the service takes of node:http. An import of it reads all its exports, one of which loads Node's WebSocket
 * client: 15 MB and 30 ms of every start.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');
