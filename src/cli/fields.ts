/**
 * `storeroom fields …`: shows a tenant's field dictionaries and adds fields of its own to them. Which names are good is decided in pims/fields.ts.
 */
import { Option, type Command } from 'commander';
import { orThrow } from '../errors.ts';
import { CUSTOM_FIELD_TYPES, RECORD_TYPES, type CustomField, type RecordType } from '../pims/fields.ts';
import { byCommand } from '../audit/entry.ts';
import {
  addCommand,
  addGroup,
  answer,
  recordTypeArgument,
  type AnswerOptions,
  type CommandContext,
} from './command.ts';
import { withTenant } from './data.ts';
import { buildTable } from './table.ts';

export function addFieldCommands(program: Command, { environment }: CommandContext): void {
  const group = addGroup(program, 'fields', {
    summary: 'Show and extend the fields of records.',
    example: 'fields list acme orders',
  });
  addCommand(group, 'list <team>', {
    summary: 'List the fields of one kind of record, or of all.',
    example: 'fields list acme orders',
  })
    .addArgument(recordTypeArgument('[type]'))
    .action(async (teamId: string, recordType: RecordType | undefined, options: AnswerOptions) => {
      const dictionaries = await withTenant(environment, teamId, async ({ pims }) => pims.dictionaries());
      const wanted = recordType ? [recordType] : (Object.keys(RECORD_TYPES) as RecordType[]);
      const fields = wanted.flatMap((kind) =>
        [...dictionaries[kind].values()].map(({ name, type, assigned, indexed, custom }) => ({
          recordType: kind,
          name,
          type,
          assigned,
          indexed,
          custom,
        })),
      );
      const rows = fields.map((field) => [
        field.recordType,
        field.name,
        field.type,
        ['assigned', 'indexed', 'custom'].filter((mark) => field[mark as keyof typeof field]).join(', '),
      ]);
      answer(options, { teamID: teamId, fields }, buildTable(rows));
    });
  addCommand(group, 'add <team>', {
    summary: 'Add a field of the tenant’s own. It cannot be taken away again.',
    example: 'fields add acme orders GIFT_WRAP --type flag',
  })
    .addArgument(recordTypeArgument('<type>'))
    .argument('<name>', 'upper case letters, digits and _')
    .addOption(new Option('--type <type>', 'what its values are').choices(CUSTOM_FIELD_TYPES).makeOptionMandatory())
    .action(
      async (
        teamId: string,
        recordType: RecordType,
        name: string,
        options: AnswerOptions & Pick<CustomField, 'type'>,
      ) => {
        const { type } = options;
        await withTenant(environment, teamId, async ({ pims, store }) => {
          orThrow(await pims.addField({ recordType, name, type }));
          await store.audit.appendAudit(
            teamId,
            byCommand(new Date().toISOString(), 'field added', name, { recordType, type }),
          );
        });
        answer(
          options,
          { teamID: teamId, recordType, name, type },
          `Added the field ${name} (${type}) to the ${recordType} of ${teamId}.`,
        );
      },
    );
}
