/** The state of the service for its operator: health, disk, backups, and the calls of every team. */
import { useEffect } from 'preact/hooks';
import type { OperateView } from '../../../../src/http/dashboard/interface.ts';
import { post } from '../../api/client.ts';
import { useGet } from '../../api/use-load.ts';
import { Badge, countOf, KeyValue, Time } from '../../ui/text/text.tsx';
import { Button, Refresh } from '../../ui/button.tsx';
import { Card, Columns, Figure, Notice, Page, Section, WhenLoaded } from '../../ui/page.tsx';
import { column, Table, textColumn, timeColumn } from '../../ui/table/table.tsx';
import { Meter } from '../../ui/text/meter.tsx';
import { toastError } from '../../ui/toaster.tsx';

const GB = 2 ** 30;
const POLL_MS = 2000;
const formatGb = (bytes: number) => `${(bytes / GB).toLocaleString(undefined, { maximumFractionDigits: 1 })} GB`;

/** Example: `formatUptime(90_061)` gives `1 day 1 h`. */
function formatUptime(seconds: number): string {
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3600) % 24, (seconds / 60) % 60].map(Math.floor);
  return days! > 0 ? `${countOf(days!, 'day')} ${hours} h` : `${hours} h ${minutes} min`;
}

export default function OperatePage() {
  const loaded = useGet('/operate');
  const { data, isLoading, reload } = loaded;
  const isRunning = data?.backup?.isRunning === true;
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = window.setInterval(reload, POLL_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const backUp = () => post('/operate/backup', {}).then(reload).catch(toastError);
  return (
    <Page
      title="Operate"
      description="Version, health and backups are those of the node that answered. Only owners of the operator’s team see this page."
      actions={<Refresh isBusy={isLoading && !isRunning} onClick={reload} />}
    >
      <WhenLoaded from={loaded} lines={8}>
        {(view) => (
          <>
            <Figures view={view} />
            <Health view={view} />
            <Backups view={view} onBackUp={() => void backUp()} />
            <Teams teams={view.teams} />
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

const Figures = ({ view: { version, upSeconds, store, disk } }: { view: OperateView }) => (
  <Columns>
    <Figure label="Version" value={version} note={`Store: ${store}`} />
    <Figure label="Running for" value={formatUptime(upSeconds)} />
    {disk && (
      <Figure
        label="Free disk space"
        value={formatGb(disk.freeBytes)}
        note={
          <>
            of {formatGb(disk.sizeBytes)}
            <Meter label="Used share of the disk" value={disk.sizeBytes - disk.freeBytes} max={disk.sizeBytes} />
          </>
        }
      />
    )}
  </Columns>
);

/** Lists the checks, each with its result and the text to show if it is bad. */
const listChecks = (view: OperateView): [name: string, isGood: boolean, fault: string][] => [
  ['Accepts requests', view.ready, 'No: the store, its disk or the counting of calls fails'],
  ['Database', view.usable, 'It does not answer'],
  ['Request log', !view.requestLog.isStopped, 'Stopped: the store or its disk accepts no lines'],
  [
    'Counting of calls',
    view.meteringFailures === 0,
    `Failed ${countOf(view.meteringFailures, 'time')} since the node started`,
  ],
  ['Webhooks', view.webhooks.paused === 0, `${countOf(view.webhooks.paused, 'webhook')} paused`],
];

const Health = ({ view }: { view: OperateView }) => (
  <Section title="Health">
    <Card>
      <KeyValue
        rows={listChecks(view).map(([name, isGood, fault]) => [
          name,
          <Badge tone={isGood ? 'good' : 'warn'}>{isGood ? 'OK' : fault}</Badge>,
        ])}
      />
    </Card>
  </Section>
);

function Backups({ view: { backup, store }, onBackUp }: { view: OperateView; onBackUp: () => void }) {
  if (backup === null)
    return (
      <Section title="Backups">
        <Notice tone={store === 'SQLite' ? 'warn' : 'neutral'} title="The service makes no backups">
          {store === 'SQLite'
            ? 'Set STOREROOM_BACKUP_DIR and start the service again.'
            : 'Back up PostgreSQL with its own tools, such as pg_basebackup and WAL archiving.'}
        </Notice>
      </Section>
    );
  const { lastSuccessSeconds, everySeconds, failures, isRunning } = backup;
  const last = lastSuccessSeconds === 0 ? null : new Date(lastSuccessSeconds * 1000).toISOString();
  return (
    <Section
      title="Backups"
      actions={
        <Button icon="download" isBusy={isRunning} onClick={onBackUp}>
          {isRunning ? 'Backing up' : 'Back up now'}
        </Button>
      }
    >
      <Card>
        <KeyValue
          rows={[
            ['Last verified backup', <Time at={last} to="seconds" none="None yet" />],
            ['Interval', countOf(everySeconds / 3600, 'hour')],
            [
              'Failed since the node started',
              failures === 0 ? '0' : <Badge tone="bad">{`${failures}; the service’s log has the reasons`}</Badge>,
            ],
          ]}
        />
      </Card>
    </Section>
  );
}

const Teams = ({ teams }: { teams: OperateView['teams'] }) => (
  <Section title="Teams" description="The table lists the oldest teams, at most 100. Months are in UTC.">
    <Table
      label="Teams of the service"
      rows={teams}
      rowKey="teamID"
      columns={[
        textColumn('teamID', 'Team ID', 'mono'),
        textColumn('name', 'Name', 'wide'),
        timeColumn('createdAt', 'Created', 'days'),
        column('Calls this month', ({ monthCalls }: { monthCalls: number }) => monthCalls.toLocaleString(), 'end'),
      ]}
    />
  </Section>
);
