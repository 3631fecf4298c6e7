/** `storeroom fields …`: shows a tenant's field dictionaries and adds custom fields. */
import { Option } from 'commander';
import { byCommand } from '../../../audit/audit.ts';
import { addField } from '../../../pims/operations.ts';
import { CUSTOM_FIELD_TYPES, RECORD_TYPES, type CustomField, type RecordType } from '../../../pims/rules/fields.ts';
import { addGroup, buildTable, recordTypeArgument, timeOf, type AddCommands } from '../../command.ts';
import { addTenantCommand } from '../../open-store.ts';

const LIST_HELP = 'List the fields of one record type, or of all.';
const ADD_HELP = 'Add a custom field. Fields cannot be removed.';

export const addFieldCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'fields', 'fields list acme orders', 'Show and extend the fields of records.');
  addTenantCommand(
    group,
    context,
    'list <team>',
    'fields list acme orders',
    LIST_HELP,
    async ({ pims }, wanted: RecordType | undefined) => {
      const dictionaries = await pims.dictionaries();
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
      return [{ fields }, buildTable(rows)];
    },
  ).addArgument(recordTypeArgument('[type]'));
  addTenantCommand(
    group,
    context,
    'add <team>',
    'fields add acme orders GIFT_WRAP --type flag',
    ADD_HELP,
    async ({ pims, store, teamId }, recordType: RecordType, name: string, { type }: Pick<CustomField, 'type'>) => {
      await addField(pims, { recordType, name, type });
      const entry = byCommand(timeOf(context.clock), 'field added', name, { recordType, type });
      await store.audit.appendAudit(teamId, entry);
      return [{ recordType, name, type }, `Added the field ${name} (${type}) to the ${recordType} of ${teamId}.`];
    },
  )
    .addArgument(recordTypeArgument('<type>'))
    .argument('<name>', 'uppercase letters, digits and _, beginning with a letter')
    .addOption(new Option('--type <type>', 'type of its values').choices(CUSTOM_FIELD_TYPES).makeOptionMandatory());
};
