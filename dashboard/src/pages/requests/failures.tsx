/** The failures among the shown requests by code, and the last calls that had no valid keys. */
import type { RequestView } from '../../../../src/http/dashboard/interface.ts';
import { useGet } from '../../api/use-load.ts';
import { useQuery } from '../../browser/router.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty, Section } from '../../ui/page.tsx';
import { column, Table, textColumn, timeColumn } from '../../ui/table/table.tsx';
import { None } from '../../ui/text/text.tsx';

/** Example: `<Failures rows={requests} />`; each button filters by its code. */
export function Failures({ rows }: { rows: readonly RequestView[] }) {
  const [, setQuery] = useQuery();
  const codes = Map.groupBy(
    rows.flatMap(({ code }) => code ?? []),
    (code) => code,
  );
  if (codes.size === 0) return null;
  return (
    <div class="toolbar" role="group" aria-label="Failures among these requests">
      {[...codes]
        .toSorted(([, a], [, b]) => b.length - a.length)
        .map(([code, those]) => (
          <Button key={code} size="small" onClick={() => setQuery({ code })}>
            {code} {those.length}
          </Button>
        ))}
    </div>
  );
}

/** The last calls that named this team without valid keys. */
export function Rejected() {
  const rejected = useGet('/requests/rejected');
  return (
    <Section
      title="Wrong credentials"
      description="The table lists the last 100 calls to this node with this team’s ID but without valid keys. A restart empties it."
    >
      <Table
        label="Calls with wrong credentials"
        rows={rejected.data?.calls}
        from={rejected}
        skeletonRows={2}
        rowKey={({ at, client, path }) => `${at} ${client} ${path}`}
        columns={[
          timeColumn('at', 'Time', 'seconds'),
          column('Call', ({ method, path }: Record<'method' | 'path', string>) => `${method} ${path}`, 'mono'),
          column('API ID', ({ apiID }: { apiID: string }) => (apiID === '' ? <None /> : `${apiID}…`), 'mono'),
          textColumn('client', 'Client', 'mono'),
        ]}
        empty={<Empty title="No calls with wrong credentials" />}
      />
    </Section>
  );
}
