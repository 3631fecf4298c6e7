/**
 * What the contract says of an operation: its parameters, header and body, and the errors it may answer.
 */
import { StatusBadge } from '../../ui/badge.tsx';
import { Section } from '../../ui/page.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import type { ExplorerOperation, Parameter } from './contract.ts';

type Taken = Parameter & { readonly place: string };

const TAKEN: readonly TableColumn<Taken>[] = [
  { key: 'name', head: 'Name', cell: ({ name }) => name, isMono: true },
  { key: 'place', head: 'In', cell: ({ place }) => place, isHiddenOnPhone: true },
  { key: 'required', head: 'Required', cell: ({ isRequired }) => (isRequired ? 'yes' : <span class="muted">no</span>) },
  { key: 'description', head: 'Meaning', cell: ({ description }) => description, isWide: true },
];
const REFUSALS: readonly TableColumn<ExplorerOperation['errors'][number]>[] = [
  { key: 'status', head: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'codes',
    head: 'Codes',
    isWide: true,
    cell: ({ codes }) => (
      <ul class="explorer-codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
    ),
  },
];

export function Reference({ operation }: { operation: ExplorerOperation }) {
  const { parameters, headers, body, writes, errors } = operation;
  const taken: Taken[] = [
    ...parameters.map((parameter) => ({ ...parameter, place: 'query' })),
    ...headers.map((header) => ({ ...header, place: 'header' })),
    ...(body?.fields ?? []).map((field) => ({ ...field, place: body?.isList ? 'each item' : 'body' })),
  ];
  return (
    <>
      <Section
        title="What it takes"
        description={writes ? 'Custom fields of your team can be sent too; Fields lists them.' : undefined}
      >
        <Table
          label={`Parameters of ${operation.name}`}
          columns={TAKEN}
          rows={taken}
          rowKey={({ name, place }) => `${place} ${name}`}
        />
      </Section>
      <Section title="How it may refuse" description="By HTTP status; the code is in the body of the answer.">
        <Table
          label={`Refusals of ${operation.name}`}
          columns={REFUSALS}
          rows={errors}
          rowKey={({ status }) => String(status)}
        />
      </Section>
    </>
  );
}
