/** Begin here: the command `storeroom-mcp` of the package, with the contract of its version in its default settings. */
import { parseArgs } from 'node:util';
import contract from '../../openapi.json' with { type: 'json' };
import { Refusal } from '../../src/errors.ts';
import type { Contract } from '../../src/http/contract/documented-operations.ts';
import manifest from '../package.json' with { type: 'json' };
import { HELP, HTTP, MAX_BYTES, WRITE } from './options.ts';
import { runMcp } from './server.ts';

interface Bounds {
  readonly form: string;
  readonly least: number;
  readonly most: number;
}

class WrongUse extends Error {}

function readWords() {
  try {
    return parseArgs({
      options: {
        write: { type: 'boolean', default: false },
        http: { type: 'string' },
        'max-bytes': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    }).values;
  } catch (fault) {
    throw new WrongUse((fault as Error).message);
  }
}

function parseBounded(text: string | undefined, { form, least, most }: Bounds): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new WrongUse(`${form} must be a whole number from ${least} to ${most}.`);
}

function renderHelp(): string {
  const about = (form: string, help: string) => `  ${form.padEnd(22)}${help}`;
  const lines = [
    about(WRITE.form, WRITE.help),
    about(HTTP.form, HTTP.help),
    about(MAX_BYTES.form, `${MAX_BYTES.help} (default: ${MAX_BYTES.fallback})`),
    about('--version', 'print the version'),
  ];
  return `Usage: storeroom-mcp [options]\n\n${HELP}\n\n${lines.join('\n')}`;
}

async function run(): Promise<void> {
  const { write: canWrite, http, 'max-bytes': maxBytes, help, version } = readWords();
  if (help) return console.log(renderHelp());
  if (version) return console.log(manifest.version);
  return runMcp(process.env, {
    canWrite,
    port: parseBounded(http, HTTP),
    bytesMax: parseBounded(maxBytes, MAX_BYTES) ?? MAX_BYTES.fallback,
    contract: contract as unknown as Contract,
    version: manifest.version,
  });
}

try {
  await run();
} catch (fault) {
  if (!(fault instanceof WrongUse || fault instanceof Refusal)) throw fault;
  console.error(`storeroom-mcp: ${fault.message}`);
  process.exitCode = fault instanceof WrongUse ? 2 : 1;
}
