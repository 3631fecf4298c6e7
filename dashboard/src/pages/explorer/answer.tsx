/**
 * The response to a call: status, time, important headers, and the formatted body. A large body is shortened until the
 * user asks for all of it.
 */
import { useState } from 'preact/hooks';
import type { OperationAnswer } from '../../api/client.ts';
import { Link, pathOf } from '../../browser/router.tsx';
import { KeyValue, StatusBadge } from '../../ui/text/text.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/text/copy.tsx';
import { Empty, LoadError, Spinner } from '../../ui/page.tsx';
import type { ExplorerCall } from './use-call.ts';

const SHOWN_MAX = 200_000;
const REQUEST_ID = 'X-Request-Id';
const CURSOR = 'X-Next-Cursor';
const SHOWN_HEADERS = [
  REQUEST_ID,
  'X-Month-Requests',
  'ETag',
  'X-Total-Count',
  'X-Has-More',
  CURSOR,
  'Retry-After',
  'Idempotent-Replayed',
];

export function Answer({ call }: { call: ExplorerCall }) {
  const { answer, error, isSending } = call;
  return (
    <section class="explorer-answer" aria-label="Response" aria-busy={isSending || undefined}>
      {error && !isSending && <LoadError error={error} />}
      {!error && answer && <AnswerView key={answer} call={call} answer={answer} />}
      {!error && !answer && (
        <div class="card">
          {isSending ? (
            <Spinner label="Waiting for the response" />
          ) : (
            <Empty title="No response yet">Send the call to see its response.</Empty>
          )}
        </div>
      )}
    </section>
  );
}

function AnswerView({ call, answer }: { call: ExplorerCall; answer: OperationAnswer }) {
  const [isWhole, setWhole] = useState(false);
  const text = answer.json === undefined ? answer.text : JSON.stringify(answer.json, null, 2);
  const isCut = text.length > SHOWN_MAX && !isWhole;
  const cursor = answer.headers.get(CURSOR);
  return (
    <>
      <CodeBlock
        label="Response body"
        head={
          <span class="explorer-status">
            <StatusBadge status={answer.status} />
            <span>{Math.round(answer.milliseconds)} ms</span>
            <span>{SIZE.format(new Blob([answer.text]).size)}</span>
          </span>
        }
        code={isCut ? `${text.slice(0, SHOWN_MAX)}…` : text}
        copied={text}
      />
      {isCut && (
        <p class="explorer-more">
          <span class="muted">The first {SHOWN_MAX.toLocaleString('en')} characters are shown.</span>
          <Button size="small" onClick={() => setWhole(true)}>
            Show all
          </Button>
        </p>
      )}
      <KeyValue
        look="mono-names"
        rows={SHOWN_HEADERS.filter((name) => answer.headers.has(name)).map((name) => {
          const value = answer.headers.get(name) ?? '';
          return [
            name,
            name === REQUEST_ID ? (
              <Link to={pathOf('/requests/:requestID', { requestID: value })}>{value}</Link>
            ) : (
              value
            ),
          ];
        })}
      />
      {cursor !== null && (
        <Button size="small" isBusy={call.isSending} onClick={() => call.sendNext(cursor)}>
          Next page
        </Button>
      )}
    </>
  );
}

const SIZE = new Intl.NumberFormat('en', { notation: 'compact', style: 'unit', unit: 'byte', unitDisplay: 'narrow' });
