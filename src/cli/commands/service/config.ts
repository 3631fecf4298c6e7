/** `storeroom config`: prints every setting with its value, source and variable. It opens no store. */
import { hidePassword, parseConfig, SETTINGS, type Config } from '../../../config.ts';
import { addCommand, printAnswer, type AddCommands } from '../../command.ts';
import { buildTable, printable } from '../../terminal.ts';

export const addConfigCommand: AddCommands = (program, context) => {
  addCommand(program, 'config', 'config', 'Show every setting, its value and where it came from.').action(() => {
    const { config, sources, unknown } = parseConfig(context.environment);
    const settings = (Object.keys(SETTINGS) as (keyof Config)[]).map((name) => {
      const { variable, default: fallback, meaning } = SETTINGS[name];
      const value = name === 'databaseUrl' ? hidePassword(config[name]) : config[name];
      return { name, value, source: sources[name], variable, default: fallback, meaning };
    });
    const rows = settings.map(({ variable, value, source, meaning }) => [variable, String(value), source, meaning]);
    const notes = unknown.map((variable) => `\n${printable(variable)} is set, but there is no such setting.`);
    const table = buildTable([['VARIABLE', 'VALUE', 'FROM', 'MEANING'], ...rows]);
    printAnswer(context, { settings, unknown }, table + notes.join(''));
  });
};
