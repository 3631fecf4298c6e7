/**
 * The variables and options of `storeroom mcp` and of the package's own command. Imports nothing, since the server
 * reads this file without the protocol.
 */

/** The variables with which the server calls the service. They are not settings of the service. */
export const CLIENT_VARIABLES = [
  'STOREROOM_URL',
  'STOREROOM_TEAM_ID',
  'STOREROOM_API_ID',
  'STOREROOM_API_SECRET',
] as const;

export const HELP =
  'Offer the API to agents over the Model Context Protocol, on standard input and output. Reads ' +
  `${CLIENT_VARIABLES.slice(0, -1).join(', ')} and ${CLIENT_VARIABLES.at(-1)}.`;

export const WRITE = { form: '--write', help: 'also offer the operations that write' };
export const HTTP = {
  form: '--http <port>',
  help: 'listen on this port of 127.0.0.1 instead; 0 chooses a free port',
  least: 0,
  most: 65_535,
};
export const MAX_BYTES = {
  form: '--max-bytes <bytes>',
  help: 'maximum bytes of a response',
  least: 2000,
  most: 10_000_000,
  fallback: 40_000,
};
