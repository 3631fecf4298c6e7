/**
 * `storeroom mcp`: offers the API as tools for agents. It loads the protocol late, so that no other command loads it.
 */
import { InvalidArgumentError } from 'commander';
import { addGroup, type AddCommands } from '../../command.ts';

const BYTES = { fallback: 40_000, least: 2000, most: 10_000_000 };

const DESCRIPTION =
  'Offer the API to agents over the Model Context Protocol, on standard input and output. Reads STOREROOM_URL, ' +
  'STOREROOM_TEAM_ID, STOREROOM_API_ID and STOREROOM_API_SECRET.';

export const addMcpCommand: AddCommands = (program, { environment }) => {
  addGroup(program, 'mcp', 'mcp --write', DESCRIPTION)
    .option('--write', 'also offer the operations that write')
    .option('--http <port>', 'listen on this port of 127.0.0.1 instead; 0 chooses a free port', parseNumber(0, 65_535))
    .option('--max-bytes <bytes>', 'maximum bytes of a response', parseNumber(BYTES.least, BYTES.most), BYTES.fallback)
    .action(async ({ write, http, maxBytes }: { write?: true; http?: number; maxBytes: number }) => {
      const { runMcp } = await import('../../mcp/run-mcp.ts');
      await runMcp(environment, { canWrite: write === true, bytesMost: maxBytes, port: http });
    });
};

const parseNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
