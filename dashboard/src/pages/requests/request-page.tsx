/**
 * One request of the log: its source, what was sent, why it failed, and the same call as curl. A request reaches the
 * log a moment after its response, so the page looks for a missing request again.
 */
import type { RequestDetailView } from '../../../../src/http/dashboard/interface.ts';
import { LINE_BYTES_MAX, VALUE_CHARACTERS_MAX } from '../../../../src/request-log/logged-request.ts';
import { get, hasCode } from '../../api/client.ts';
import { addQuery, formatCurl } from '../../api/call-text.ts';
import { useLoad } from '../../api/use-load.ts';
import { useParams } from '../../browser/router.tsx';
import { useSession, type UserSession } from '../../api/session.tsx';
import { formatDuration, KeyValue, Method, StatusBadge, Time } from '../../ui/text/text.tsx';
import { CodeBlock, Copy, CopyButton, CopyText, KeysHint } from '../../ui/text/copy.tsx';
import { Card, Notice, Page, Section, WhenLoaded } from '../../ui/page.tsx';
import { column, Table } from '../../ui/table/table.tsx';
import { CodeAdvice } from './advice.tsx';

const LOOK_MS = 2000;
const PAUSE_MS = 650;

async function findRequest(requestID: string, signal: AbortSignal) {
  const endsAt = performance.now() + LOOK_MS;
  for (;;) {
    try {
      return await get('/requests/single', { requestID }, signal);
    } catch (fault) {
      if (!hasCode(fault, 'NOT_FOUND') || signal.aborted || performance.now() > endsAt) throw fault;
      await new Promise((resume) => {
        window.setTimeout(resume, PAUSE_MS);
      });
    }
  }
}

export default function RequestPage() {
  const { requestID = '' } = useParams();
  const session = useSession();
  const request = useLoad(`request ${requestID}`, (signal) => findRequest(requestID, signal));
  const { data, error } = request;
  return (
    <Page
      title={data === undefined ? 'Request' : data.operation}
      badge={data && <StatusBadge status={data.httpStatus} />}
      description={<CopyText text={requestID} label="Copy request ID" />}
      actions={data && <CopyButton text={formatAsCurl(session, data)} label="Copy as curl" />}
    >
      {hasCode(error, 'NOT_FOUND') ? (
        <Notice title="This request is not in the log">
          {error.message} It may be older, or was sent with unknown keys or to a path that does not exist.
        </Notice>
      ) : (
        <WhenLoaded from={request} lines={8}>
          {(found) => <Request request={found} />}
        </WhenLoaded>
      )}
    </Page>
  );
}

function Request({ request }: { request: RequestDetailView }) {
  return (
    <div class="request">
      <div class="request-side stack">
        {request.code !== null && <Refused request={request} code={request.code} />}
        <Card>
          <Members request={request} />
        </Card>
      </div>
      <div class="request-sent">
        <QueryParameters query={request.query} />
        <Body body={request.body} />
        <AsCurl request={request} />
      </div>
    </div>
  );
}

const Refused = ({ request, code }: { request: RequestDetailView; code: string }) => (
  <Notice tone={request.httpStatus >= 500 ? 'bad' : 'warn'} title={request.message ?? 'The request was rejected.'}>
    <p>
      <code>{code}</code>
      {request.field !== null && (
        <>
          {' '}
          at <code>{request.field}</code>
        </>
      )}
    </p>
    {request.remedy !== null && <CodeAdvice code={code} remedy={request.remedy} />}
  </Notice>
);

function Members({ request }: { request: RequestDetailView }) {
  const { at, method, path, milliseconds, client, apiID, keyName, explorerUser, httpStatus } = request;
  const how =
    explorerUser === null ? <CopyText text={apiID ?? ''} label="Copy API ID" /> : `API explorer, by ${explorerUser}`;
  return (
    <KeyValue
      rows={[
        ['Time', <Time at={at} to="milliseconds" />],
        ['UTC', <code>{at}</code>],
        ['Status', <StatusBadge status={httpStatus} />],
        ['Duration', formatDuration(milliseconds)],
        [
          'Path',
          <>
            <Method method={method} /> <code>{path}</code>
          </>,
        ],
        [explorerUser === null ? 'API ID' : 'Source', how],
        ...(keyName === null ? [] : [['Keys', keyName] as const]),
        ['Client', <code>{client}</code>],
      ]}
    />
  );
}

function QueryParameters({ query }: { query: RequestDetailView['query'] }) {
  const rows = Object.entries(query);
  return (
    <Section title="Query parameters">
      {rows.length === 0 ? (
        <p class="muted">No parameters.</p>
      ) : (
        <Table<[string, string]>
          label="Names and values"
          rows={rows}
          rowKey={([name]) => name}
          columns={[
            column('Name', ([name]) => name, 'mono'),
            column('Value', ([, value]) => value || <span class="muted">empty</span>, 'mono wide'),
            column('Copy', ([name, value]) => <Copy text={value} label={`Copy ${name}`} />, 'end'),
          ]}
        />
      )}
    </Section>
  );
}

/** Returns the body indented, or unchanged when it is cut or holds numbers that this browser would change. */
function parseBody(body: string) {
  try {
    const value: unknown = JSON.parse(body);
    const isCut = /…"/.test(body);
    return { shown: JSON.stringify(value) === body ? JSON.stringify(value, null, 2) : body, isCut };
  } catch {
    return { shown: body, isCut: true };
  }
}

function Body({ body }: { body: string | null }) {
  if (body === null)
    return (
      <Section title="Body">
        <p class="muted">No body.</p>
      </Section>
    );
  const { shown, isCut } = parseBody(body);
  return (
    <Section
      title="Body"
      description={
        isCut
          ? `The log shortened this body: it keeps ${VALUE_CHARACTERS_MAX} characters of a value and ${LINE_BYTES_MAX} bytes in all.`
          : undefined
      }
    >
      <CodeBlock label="Body of the request" code={shown} copied={body} />
    </Section>
  );
}

function formatAsCurl({ baseURL, tenant }: UserSession, { method, path, query, body }: RequestDetailView): string {
  return formatCurl(addQuery(new URL(path, baseURL).href, { teamID: tenant.teamID, ...query }), {
    method,
    bodyText: body ?? undefined,
  });
}

function AsCurl({ request }: { request: RequestDetailView }) {
  const curl = formatAsCurl(useSession(), request);
  const { query, body, operation } = request;
  const isCut =
    (body !== null && parseBody(body).isCut) ||
    Object.entries(query).some(([name, value]) => name.endsWith('…') || value.endsWith('…'));
  const isWrite = /^(create|add|update|cancel|batch)/.test(operation);
  return (
    <Section title="Run again">
      {isCut && (
        <Notice tone="warn">
          The log shortens long values and keeps no secrets, so this command is not the complete request.
        </Notice>
      )}
      <CodeBlock label="curl" code={curl} />
      <KeysHint what="command"> It counts toward your quota{isWrite && ' and changes data again'}.</KeysHint>
    </Section>
  );
}
