/** `storeroom fields …`: shows a tenant's field dictionaries and adds custom fields. */
import { Option, type Command } from 'commander';
import { byCommand } from '../../../audit/entry.ts';
import { addField } from '../../../pims/operations.ts';
import { CUSTOM_FIELD_TYPES, RECORD_TYPES, type CustomField, type RecordType } from '../../../pims/rules/fields.ts';
import { addCommand, addGroup, printAnswer, recordTypeArgument, timeOf, type CommandContext } from '../../command.ts';
import { withTenant } from '../../open-store.ts';
import { buildTable } from '../../text-table.ts';

const ADDING = 'Add a custom field. Fields cannot be removed.';

export function addFieldCommands(program: Command, context: CommandContext): void {
  const group = addGroup(program, 'fields', 'fields list acme orders', 'Show and extend the fields of records.');
  addCommand(group, 'list <team>', 'fields list acme orders', 'List the fields of one record type, or of all.')
    .addArgument(recordTypeArgument('[type]'))
    .action(async (teamId: string, wanted: RecordType | undefined) => {
      const dictionaries = await withTenant(context, teamId, async ({ pims }) => pims.dictionaries());
      const recordTypes = wanted ? [wanted] : (Object.keys(RECORD_TYPES) as RecordType[]);
      const fields = recordTypes.flatMap((recordType) =>
        [...dictionaries[recordType].values()].map(({ name, type, assigned, indexed, custom }) => {
          return { recordType, name, type, assigned, indexed, custom };
        }),
      );
      const rows = fields.map((field) => {
        const marks = (['assigned', 'indexed', 'custom'] as const).filter((mark) => field[mark]);
        return [field.recordType, field.name, field.type, marks.join(', ')];
      });
      printAnswer(context, { teamID: teamId, fields }, buildTable(rows));
    });
  addCommand(group, 'add <team>', 'fields add acme orders GIFT_WRAP --type flag', ADDING)
    .addArgument(recordTypeArgument('<type>'))
    .argument('<name>', 'uppercase letters, digits and _')
    .addOption(new Option('--type <type>', 'type of its values').choices(CUSTOM_FIELD_TYPES).makeOptionMandatory())
    .action(async (teamId: string, recordType: RecordType, name: string, { type }: Pick<CustomField, 'type'>) => {
      await withTenant(context, teamId, async ({ pims, store }) => {
        await addField(pims, { recordType, name, type });
        const entry = byCommand(timeOf(context.clock), 'field added', name, { recordType, type });
        await store.audit.appendAudit(teamId, entry);
      });
      const text = `Added the field ${name} (${type}) to the ${recordType} of ${teamId}.`;
      printAnswer(context, { teamID: teamId, recordType, name, type }, text);
    });
}
