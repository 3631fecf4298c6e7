/**
 * The reference of an operation, from the contract: its parameters, headers, body and errors.
 */
import { StatusBadge } from '../../ui/text/text.tsx';
import { Section } from '../../ui/page.tsx';
import { column, Table, textColumn, type TableColumn } from '../../ui/table/table.tsx';
import type { DescribedField, ExplorerOperation } from './contract.ts';

const PARAMETERS: readonly TableColumn<DescribedField>[] = [
  textColumn('name', 'Name', 'mono'),
  textColumn('place', 'In', 'not-on-phone'),
  column('Required', ({ isRequired }) => (isRequired ? 'yes' : <span class="muted">no</span>)),
  textColumn('description', 'Meaning', 'wide'),
];
const ERRORS: readonly TableColumn<{ readonly status: number; readonly codes: readonly string[] }>[] = [
  column('Status', ({ status }) => <StatusBadge status={status} />),
  column(
    'Codes',
    ({ codes }) => (
      <ul class="explorer-codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
    ),
    'wide',
  ),
];

export function Reference({ operation }: { operation: ExplorerOperation }) {
  const { name, parameters, body, isWrite, answers } = operation;
  const errors = Object.entries(answers)
    .map(([status, answer]) => ({
      status: Number(status),
      codes: (answer?.schema.properties?.code?.enum ?? []) as string[],
    }))
    .filter(({ status }) => status >= 400);
  return (
    <>
      <Section
        title="Parameters"
        description={
          isWrite ? 'Where the body sets fields, it can also set custom fields of your team. See Fields.' : undefined
        }
      >
        <Table
          label={`Parameters of ${name}`}
          columns={PARAMETERS}
          rows={[...parameters, ...(body?.fields ?? [])]}
          rowKey={(described) => `${described.place} ${described.name}`}
        />
      </Section>
      <Section
        title="Errors"
        description="The table lists the codes of each HTTP status. The response body contains the code."
      >
        <Table label={`Errors of ${name}`} columns={ERRORS} rows={errors} rowKey="status" />
      </Section>
    </>
  );
}
