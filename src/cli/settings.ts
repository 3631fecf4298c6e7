/**
 * `storeroom config`: every setting in force, where its value came from and the variable that sets it. Reads no data and makes no folder.
 */
import type { Command } from 'commander';
import { parseConfig, SETTINGS, type Config } from '../config.ts';
import { addCommand, answer, type AnswerOptions, type CommandContext } from './command.ts';
import { printable, buildTable } from './table.ts';

export function addSettingsCommand(program: Command, { environment }: CommandContext): void {
  addCommand(program, 'config', {
    summary: 'Show every setting, its value and where it came from.',
    example: 'config',
  }).action((options: AnswerOptions) => {
    const { config, sources, unknown } = parseConfig(environment, {});
    const names = Object.keys(SETTINGS) as (keyof Config)[];
    const settings = names.map((name) => {
      const { variable, default: fallback, meaning } = SETTINGS[name];
      const value = name === 'databaseUrl' ? SETTINGS.databaseUrl.show!(config.databaseUrl) : config[name];
      return { name, value, source: sources[name] ?? 'default', variable, default: fallback, meaning };
    });
    const rows = settings.map(({ variable, value, source, meaning }) => [variable, String(value), source, meaning]);
    const notes = unknown.map(
      (variable) => `\n${printable(variable)} is set and not a setting; most likely it is mistyped.`,
    );
    answer(
      options,
      { settings, unknown },
      buildTable([['VARIABLE', 'VALUE', 'FROM', 'MEANING'], ...rows]) + notes.join(''),
    );
  });
}
