/** `storeroom move`: copies everything into another store, compares both, and prints their checksums. */
import type { Clock } from '../../../clock.ts';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { hidePassword, parseConfig, SETTINGS } from '../../../config.ts';
import { refuseCommand } from '../../../errors.ts';
import { moveStore } from '../../../store/move/move.ts';
import { openMoveStore, type StorePlace } from '../../../store/open.ts';
import { addCommand, printAnswer, type AddCommands } from '../../command.ts';
import { checkFolder } from '../../open-store.ts';
import { buildTable, createProgressBar } from '../../terminal.ts';

const DESCRIPTION =
  'Copy everything into an empty store and compare both. Stop the service first. To resume a move, run it again.';

export const addMoveCommand: AddCommands = (program, context) => {
  const command: Command = addCommand(
    program,
    'move',
    'move --to postgres://storeroom:…@db.example.com/storeroom',
    DESCRIPTION,
  ).requiredOption('--to <store>', 'postgres://… or sqlite:FOLDER');
  command.action(async ({ to }: { to: string }) => {
    const target = parsePlace(to);
    // Commander's own message would show the value, which can contain a password.
    if (!target) command.error(`error: option '--to <store>' must be ${SETTINGS.databaseUrl.form}, or sqlite:FOLDER.`);
    const { config } = parseConfig(context.environment);
    const source: StorePlace = { ...config, data: resolve(config.data) };
    const [from, into] = [formatPlace(source), formatPlace(target)];
    if (from === into)
      throw refuseCommand(`The source and the target are both ${from}. Name another target with --to.`);
    if (source.databaseUrl === '') checkFolder(source.data);
    const startedAt = performance.now();
    const { tenants, tables } = await move(source, target, context.clock);
    const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(3));
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    const cells = tables.map((table) => [table.team ?? '-', table.table, table.rows, table.sha256]);
    const text = [
      buildTable([['TEAM', 'TABLE', 'ROWS', 'SHA-256'], ...cells]),
      '',
      `Moved ${rows} rows (tenants: ${tenants}) in ${seconds} s. Both stores were read back, and every table is equal.`,
      `${from} is unchanged; stop writing to it. To use ${into}, ${describeSettings(target)} and start the service.`,
    ];
    printAnswer(context, { from, to: into, tenants, tables, seconds }, text.join('\n'));
  });
};

async function move(source: StorePlace, target: StorePlace, clock: Clock) {
  const from = { name: formatPlace(source), store: await openMoveStore(source, formatPlace(source), clock) };
  try {
    const to = { name: formatPlace(target), store: await openMoveStore(target, formatPlace(target), clock) };
    const bar = await createProgressBar();
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
  const databaseUrl = SETTINGS.databaseUrl.parse(text);
  return databaseUrl === undefined ? undefined : { data: '', databaseUrl };
}

const formatPlace = ({ data, databaseUrl }: StorePlace) =>
  databaseUrl === '' ? `sqlite:${data}` : hidePassword(databaseUrl);

function describeSettings({ data, databaseUrl }: StorePlace): string {
  const { data: folder, databaseUrl: url } = SETTINGS;
  if (databaseUrl === '') return `set ${folder.variable}=${data}, unset ${url.variable}`;
  return `set ${url.variable} to the address given to --to`;
}
