/**
 * Begin here. `npm run generate` writes facts from the code into openapi.json, docs/errors.md,
 * docs/settings.md, docs/commands.md, examples/bruno, client/src/contract.ts and a part of client-python/storeroom.py.
 * With --check it writes nothing, and fails if one of the files is out of date. It fails if a promise of the
 * specification has no test; build/conformance.md lists the tests of each.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { buildProgram } from '../src/cli/commands/program.ts';
import { systemClock } from '../src/clock.ts';
import { SETTINGS } from '../src/config.ts';
import { renderBruno } from './bruno.ts';
import { renderClientTypes } from './client-types.ts';
import { renderConformance } from './conformance.ts';
import { renderContract } from './contract/render-contract.ts';
import { renderPythonModule } from './python-types.ts';
import { COMMAND_ROWS, ROWS_BY_STATUS, type ErrorRow } from './site/error-rows.ts';

const ROOT = join(import.meta.dirname, '..');
const PYTHON_MODULE = 'client-python/storeroom.py';
const WRITTEN = '<!-- Written by `npm run generate` from the code; change the code, not this file. -->';

/** Options that every command has. The page describes them once. */
const EVERY_OPTION = ['--json', '--help'];

const contract = renderContract();
const FILES: Record<string, string> = {
  'openapi.json': `${JSON.stringify(contract, null, 1)}\n`,
  'docs/errors.md': writeErrors(),
  'docs/settings.md': writeSettings(),
  'docs/commands.md': writeCommands(),
  'client/src/contract.ts': renderClientTypes(contract),
  [PYTHON_MODULE]: renderPythonModule(contract, readOrNothing(join(ROOT, PYTHON_MODULE))),
  ...renderBruno(contract),
};

const isCheck = process.argv.includes('--check');
const conformance = renderConformance();
if (!isCheck) {
  mkdirSync(join(ROOT, 'build'), { recursive: true });
  writeFileSync(join(ROOT, 'build/conformance.md'), conformance);
}
const behind: string[] = [];
for (const [file, wanted] of Object.entries(FILES)) {
  if (readOrNothing(join(ROOT, file)) === wanted) continue;
  behind.push(file);
  if (isCheck) continue;
  mkdirSync(dirname(join(ROOT, file)), { recursive: true });
  writeFileSync(join(ROOT, file), wanted);
}
for (const file of globSync('examples/bruno/**/*.bru', { cwd: ROOT }).filter((one) => !(one in FILES))) {
  behind.push(file);
  if (!isCheck) rmSync(join(ROOT, file));
}
if (isCheck && behind.length > 0) {
  console.log(`Not in step with the code: ${behind.join(', ')}. Run "npm run generate" and look at what changed.`);
  process.exitCode = 1;
} else if (isCheck) console.log('All generated files are in step with the code.');

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function writeErrors(): string {
  const table = (rows: readonly ErrorRow[]): string =>
    buildTable(
      ['code', 'meaning', 'what to do'],
      rows.map(({ code, message, remedy }) => [`\`${code}\``, message, remedy]),
    );
  const isOfDashboard = ({ place }: ErrorRow): boolean => place === 'dashboard';
  const sections = [...ROWS_BY_STATUS].flatMap(([status, rows]) => {
    const called = rows.filter((row) => !isOfDashboard(row));
    return called.length > 0 ? [`## ${status}\n\n${table(called)}`] : [];
  });
  const dashboard = [...ROWS_BY_STATUS.values()].flat().filter(isOfDashboard);
  return `${WRITTEN}

# Errors

A running service shows this list at \`/docs/errors\`. Every error has this body:

\`\`\`text
{"status":"error","data":null,"subRecords":null,"message":…,"code":…,"remedy":…,"docs":…,"field":…,"suggestion":…,"step":…,"requestId":…}
\`\`\`

- \`code\` never changes its meaning. Branch on it.
- \`message\` is a sentence for people. It can be more exact than the one below.
- \`remedy\` says what to do next. \`docs\` is the path of the code on the service, \`/docs/errors#CODE\`.
- \`field\` names the parameter or field that is wrong, if one is. \`suggestion\` is a similar known name, if there is
  one, or the number of the order that a line moved to. \`step\` is the index of the refused step of a batch.
- \`requestId\` is also in the header \`X-Request-Id\` and in the service's log.

A 4xx response means that nothing was written. After a 5xx response or no response, the outcome of a write is unknown: retry
it with its \`Idempotency-Key\`
([idempotency](api-reference.md#idempotency)).

${sections.join('\n\n')}

## Only in the dashboard

${table(dashboard)}

## Only on the command line

Commands exit with 0 when done, 1 when refused or failed, 2 when used wrongly, 78 when a setting
cannot be used. With \`--json\` the error is one
object on standard error,
\`{"error":{"code":…,"message":…}}\`; wrong use has the code \`WRONG_USE\`. Beside the codes above:

${table(COMMAND_ROWS)}
`;
}

function writeSettings(): string {
  const settings = Object.values(SETTINGS).map(({ variable, default: fallback, form, meaning }) => [
    `\`${variable}\``,
    `\`${String(fallback)}\``,
    form.replace('a whole number from ', ''),
    meaning,
  ]);
  return `${WRITTEN}

# Settings

Settings are environment variables. \`serve --port\` and \`serve --host\` override \`STOREROOM_PORT\` and
\`STOREROOM_HOST\`. An empty variable counts as unset. A wrong value stops the command with exit code 78; the message
names all wrong values. \`storeroom config\` shows every value in force and its source. \`serve\` warns about
unknown variables that begin with \`STOREROOM_\`.

${buildTable(['variable', 'default', 'form', 'meaning'], settings)}
`;
}

function writeCommands(): string {
  const program = buildProgram({ environment: {}, clock: systemClock, asJson: false, exitCode: 0 });
  return `${WRITTEN}

# Commands

Run a command as \`storeroom …\`, in a checkout with \`npx --no storeroom …\` or from anywhere as
\`/path/to/storeroom/bin/storeroom.js …\`.
They work on the folder in \`STOREROOM_DATA\`, or the database of \`STOREROOM_DATABASE_URL\`, and name it on standard
error. Only \`serve\`, \`restore\`, \`move\` and \`tenant create --create\` make a store. Every command has \`--help\`,
which explains its options with an example, and all but \`service run\` have \`--json\`: it prints one JSON object on
standard output and nothing else.

${buildTable(['command', 'does', 'options'], listCommands(program, []))}
`;
}

/** Returns a row for each command below `command`, in its order. A word that only groups commands has no row. */
function listCommands(command: Command, words: readonly string[]): string[][] {
  if (command.commands.length > 0) return command.commands.flatMap((one) => listCommands(one, [...words, one.name()]));
  const usage = command.usage().replace('[options]', '').trim();
  const options = command.options.filter(({ long, hidden }) => !hidden && !EVERY_OPTION.includes(long ?? ''));
  const line = [...words, usage].join(' ').trim();
  return [[`\`${line}\``, command.description(), options.map(({ flags }) => `\`${flags}\``).join(', ')]];
}

function buildTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map(
    (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
  );
  return lines.join('\n');
}
