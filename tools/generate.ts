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
const WRITTEN = '<!-- Written by `npm run generate`. -->';

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
  const list = (rows: readonly ErrorRow[]): string =>
    rows.map(({ code, remedy }) => `- \`${code}\`: ${remedy}`).join('\n');
  const isOfDashboard = ({ place }: ErrorRow): boolean => place === 'dashboard';
  const sections = [...ROWS_BY_STATUS].flatMap(([status, rows]) => {
    const called = rows.filter((row) => !isOfDashboard(row));
    return called.length > 0 ? [`## ${status.slice(0, 3)}\n\n${list(called)}`] : [];
  });
  const dashboard = [...ROWS_BY_STATUS.values()].flat().filter(isOfDashboard);
  return `${WRITTEN}

# Errors

Each code is followed by what to do. The \`message\` of the response says what is wrong; a running service also lists
the meaning of each code at \`/docs/errors\`. Every error has this body:

\`\`\`text
{"status":"error","data":null,"subRecords":null,"message":…,"code":…,"remedy":…,"docs":…,"field":…,"suggestion":…,"step":…,"requestId":…}
\`\`\`

- Branch on \`code\`, whose meaning never changes. \`message\` is for people, and can change.
- \`remedy\` says what to do, and \`docs\` is the path of the code on the service.
- If they apply, \`field\` names the wrong parameter or field, \`suggestion\` a similar known name or path, or the order
  to use or to void first, and \`step\` is the index of the refused step of a batch.
- \`requestId\` is also in the header \`X-Request-Id\` and in the service's log.

After a 4xx nothing was written. After a 5xx, or without a response, the outcome of a write is unknown: retry it with
its [\`Idempotency-Key\`](api-reference.md#idempotency).

${sections.join('\n\n')}

## Only in the dashboard

${list(dashboard)}

## Only on the command line

Commands exit with 0 when done, 1 when refused or failed, 2 when used wrongly, 78 for a wrong setting. With
\`--json\` the error is one object on standard error, \`{"error":{"code":…,"message":…}}\`; wrong use has the code
\`WRONG_USE\`. These codes are only here:

${list(COMMAND_ROWS)}
`;
}

function writeSettings(): string {
  const settings = Object.values(SETTINGS).map(({ variable, default: fallback, form, meaning }) => {
    const values = form.replace('a whole number from ', '').replace('a non-empty text', 'text');
    return `- \`${variable}\` (${String(fallback) ? `\`${String(fallback)}\`` : 'unset'}; ${values}): ${meaning}`;
  });
  return `${WRITTEN}

# Settings

Settings are environment variables; an empty one counts as unset. \`serve --port\` and \`--host\` override their settings.
A wrong value stops a command with exit code 78 and a message that names all wrong values. \`storeroom config\` shows
every value in force and its source. \`serve\` warns about unknown variables that begin with \`STOREROOM_\`.

Each is followed by its default and the values that it can have.

${settings.join('\n')}
`;
}

function writeCommands(): string {
  const program = buildProgram({ environment: {}, clock: systemClock, asJson: false, exitCode: 0 });
  return `${WRITTEN}

# Commands

Run a command as \`storeroom …\`, in a checkout as \`npx --no storeroom …\`, or from anywhere as
\`/path/to/storeroom/bin/storeroom.js …\`. It works on the folder in \`STOREROOM_DATA\`, or the database of
\`STOREROOM_DATABASE_URL\`, and names it on standard error. \`--help\` explains the options. With \`--json\`, all but
\`service run\` print one JSON object on standard output.

${listCommands(program, []).join('\n')}
`;
}

/** Returns a line for each command below `command`, in its order. A word that only groups commands has no line. */
function listCommands(command: Command, words: readonly string[]): string[] {
  if (command.commands.length > 0) return command.commands.flatMap((one) => listCommands(one, [...words, one.name()]));
  const usage = command.usage().replace('[options]', '').trim();
  const options = command.options.filter(({ long, hidden }) => !hidden && !EVERY_OPTION.includes(long ?? ''));
  const line = [...words, usage].join(' ').trim();
  return [
    `- ${[line, ...options.map(({ long }) => long)].map((part) => `\`${part}\``).join(' ')}: ${command.description()}`,
  ];
}
