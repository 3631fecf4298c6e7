/**
 * The panel that shows new keys once, with calls that use them.
 */
import type { CreatedKeyView, IssuedKeyView } from '../../../../src/http/dashboard/interface.ts';
import { CodeBlock, CopyText } from '../../ui/text/copy.tsx';
import { KeyValue } from '../../ui/text/key-value.tsx';
import { OneTimePanel } from '../../ui/dialog/one-time-panel.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Time } from '../../ui/text/time.tsx';
import { exampleCalls } from './example-calls.ts';

const SOME_ORDER = '10248';

/** A pair just made or replaced. */
export type NewKeys = Pick<IssuedKeyView, 'teamID' | 'apiID' | 'apiSecret'> &
  Partial<Pick<CreatedKeyView, 'name' | 'scope'>> & {
    /** When the keys these replaced end, or ended; null when they replaced none. */
    oldKeysEndAt: string | null;
  };

export interface IssuedKeysProps {
  issued: NewKeys;
  baseURL: string;
  /** One there is; null when there is none, undefined when that is not known. */
  orderNum: string | null | undefined;
  onStored: () => void;
}

export function IssuedKeys({ issued, baseURL, orderNum, onStored }: IssuedKeysProps) {
  const { apiID, apiSecret, name, scope, oldKeysEndAt } = issued;
  const calls = exampleCalls(issued, baseURL, orderNum ?? SOME_ORDER);
  return (
    <OneTimePanel title="New keys" what="The API Secret is" onStored={onStored}>
      <KeyValue
        rows={[
          ...(name === undefined ? [] : [['Name', `${name}, scope ${scope}`] as const]),
          ['API ID', <CopyText text={apiID} label="Copy the new API ID" />],
          ['API Secret', <CopyText text={apiSecret} label="Copy the new API Secret" />],
          ...(oldKeysEndAt === null ? [] : [['Old keys', <OldKeysEnd at={oldKeysEndAt} />] as const]),
        ]}
      />
      <div>
        <h3 class="card-title">Try them</h3>
        <Tabs
          label="A call with the new keys in"
          tabs={calls.map(({ id, label, code }) => ({
            id,
            label,
            content: () => <CodeBlock key={id} label={`Call in ${label}`} code={code} />,
          }))}
        />
        {orderNum === null && (
          <p class="hint">
            There are no orders yet: good keys are answered with 404 NOT_FOUND, wrong ones with 401 INVALID_CREDENTIALS.
          </p>
        )}
      </div>
    </OneTimePanel>
  );
}

function OldKeysEnd({ at }: { at: string }) {
  if (Date.parse(at) <= Date.now()) return <>Ended; programs that use them are refused.</>;
  return (
    <>
      Good until <Time at={at} />
    </>
  );
}
