/**
 * The reference of an operation, from the contract: its parameters, headers, body and errors.
 */
import { StatusBadge } from '../../ui/badge.tsx';
import { Section } from '../../ui/page.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import type { ExplorerOperation, Parameter } from './contract.ts';

type Described = Parameter & { readonly place: string };

const PARAMETERS: readonly TableColumn<Described>[] = [
  { key: 'name', head: 'Name', cell: ({ name }) => name, isMono: true },
  { key: 'place', head: 'In', cell: ({ place }) => place, isHiddenOnPhone: true },
  { key: 'required', head: 'Required', cell: ({ isRequired }) => (isRequired ? 'yes' : <span class="muted">no</span>) },
  { key: 'description', head: 'Meaning', cell: ({ description }) => description, isWide: true },
];
const ERRORS: readonly TableColumn<ExplorerOperation['errors'][number]>[] = [
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
  const described: Described[] = [
    ...parameters.map((parameter) => ({ ...parameter, place: 'query' })),
    ...headers.map((header) => ({ ...header, place: 'header' })),
    ...(body?.fields ?? []).map((field) => ({ ...field, place: body?.isList ? 'each item' : 'body' })),
  ];
  return (
    <>
      <Section
        title="Parameters"
        description={writes ? 'You can send custom fields of your team too. See Fields.' : undefined}
      >
        <Table
          label={`Parameters of ${operation.name}`}
          columns={PARAMETERS}
          rows={described}
          rowKey={({ name, place }) => `${place} ${name}`}
        />
      </Section>
      <Section title="Errors" description="By HTTP status. The code is in the response body.">
        <Table
          label={`Errors of ${operation.name}`}
          columns={ERRORS}
          rows={errors}
          rowKey={({ status }) => String(status)}
        />
      </Section>
    </>
  );
}
