/**
 * `storeroom move`: everything from the store of the settings into another one, with a bar on a terminal while it runs and the checksums of both sides at
 * the end. The moving itself is the store's. Never changes where it came from.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { parseConfig, SETTINGS } from '../config.ts';
import { Refusal } from '../errors.ts';
import { moveStore, type MovedTable, type MoveProgress } from '../store/move/move.ts';
import { openTables, type StorePlace } from '../store/open.ts';
import { addCommand, answer, type AnswerOptions, type CommandContext } from './command.ts';
import { checkFolder } from './data.ts';
import { buildTable } from './table.ts';

export function addMoveCommand(program: Command, { environment }: CommandContext): void {
  const command: Command = addCommand(program, 'move', {
    summary:
      'Copy everything into another, empty store and compare both. Stop the service before. Cut short, it goes on when it is run again.',
    example: 'move --to postgres://storeroom:…@db.example.com/storeroom',
  }).requiredOption('--to <store>', 'postgres://… or sqlite:FOLDER');
  command.action(async ({ to, ...options }: AnswerOptions & { to: string }) => {
    const target = parsePlace(to);
    // Commander would show what was given, and a password in it.
    if (!target) command.error(`error: option '--to <store>' takes ${SETTINGS.databaseUrl.form}, or sqlite:FOLDER.`);
    const { config } = parseConfig(environment, {});
    const source: StorePlace = { data: resolve(config.data), databaseUrl: config.databaseUrl };
    const [from, into] = [showPlace(source), showPlace(target)];
    if (from === into) throw new Refusal('COMMAND_REFUSED', `Everything is in ${from} already.`);
    if (source.databaseUrl === '') checkFolder(source.data);
    const startedAt = performance.now();
    const { tenants, tables } = await move(source, target);
    const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(3));
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    const end = [
      `Moved ${tenants} ${tenants === 1 ? 'tenant' : 'tenants'} with ${rows} rows in ${seconds} s. Both sides were read back: every table is the same.`,
      `${from} is left as it is. For ${into}, ${describeSettings(target)} and start the service; let nothing write to the old one any more.`,
    ];
    answer(
      options,
      { from, to: into, tenants, tables, seconds },
      [buildTable(listTables(tables)), '', ...end].join('\n'),
    );
  });
}

async function move(source: StorePlace, target: StorePlace): Promise<Awaited<ReturnType<typeof moveStore>>> {
  const from = { name: showPlace(source), store: await openTables(source, showPlace(source)) };
  try {
    const to = { name: showPlace(target), store: await openTables(target, showPlace(target)) };
    const bar = await startBar();
    try {
      return await moveStore(from, to, bar);
    } finally {
      bar.stop();
      await to.store.close();
    }
  } finally {
    await from.store.close();
  }
}

function parsePlace(text: string): StorePlace | undefined {
  const folder = /^sqlite:(.+)$/s.exec(text)?.[1];
  if (folder !== undefined) return { data: resolve(folder), databaseUrl: '' };
  const databaseUrl = SETTINGS.databaseUrl.read(text);
  return databaseUrl === undefined ? undefined : { data: '', databaseUrl };
}

const showPlace = ({ data, databaseUrl }: StorePlace): string =>
  databaseUrl === '' ? `sqlite:${data}` : SETTINGS.databaseUrl.show!(databaseUrl);

function describeSettings({ data, databaseUrl }: StorePlace): string {
  const { data: folder, databaseUrl: url } = SETTINGS;
  return databaseUrl === ''
    ? `set ${folder.variable}=${data}, unset ${url.variable}`
    : `set ${url.variable} to the address given to --to`;
}

const listTables = (tables: readonly MovedTable[]): string[][] => [
  ['TEAM', 'TABLE', 'ROWS', 'SHA-256'],
  ...tables.map(({ team, table, rows, sha256 }) => [team ?? '-', table, String(rows), sha256]),
];

/** A bar on standard error, by rows written and compared; nothing where nobody watches. */
async function startBar(): Promise<MoveProgress & { readonly stop: () => void }> {
  if (!process.stderr.isTTY) return { start: () => undefined, advance: () => undefined, stop: () => undefined };
  const { default: progress } = await import('cli-progress');
  const bar = new progress.SingleBar(
    { format: '{bar} {percentage} %  {eta_formatted} left', clearOnComplete: true },
    progress.Presets.shades_classic,
  );
  return { start: (rows) => bar.start(rows, 0), advance: (rows) => bar.increment(rows), stop: () => bar.stop() };
}
