/**
 * The panel that shows new keys once, with calls that use them.
 */
import type { CreatedKeyView, IssuedKeyView } from '../../../../src/http/dashboard/interface.ts';
import { formatCode } from '../../api/call-code.ts';
import { callURL } from '../../api/call-text.ts';
import { OneTimePanel } from '../../ui/dialog/one-time-panel.tsx';
import { CodeTabs, CopyText } from '../../ui/text/copy.tsx';
import { KeyValue, Time } from '../../ui/text/text.tsx';

const SOME_ORDER = '10248';

/** A pair that was just created, or that replaces another. */
export type NewKeys = Pick<IssuedKeyView, 'teamID' | 'apiID' | 'apiSecret' | 'name'> &
  Partial<Pick<CreatedKeyView, 'scope'>> & {
    /** The time at which the replaced keys expire or expired, or null if there were none. */
    oldKeysEndAt: string | null;
  };

interface IssuedKeysProps {
  issued: NewKeys;
  baseURL: string;
  /** The number of an order, null if there is none, or undefined if it is not known yet. */
  orderNum: string | null | undefined;
  onStored: () => void;
}

export function IssuedKeys({ issued, baseURL, orderNum, onStored }: IssuedKeysProps) {
  const { teamID, apiID, apiSecret, name, scope, oldKeysEndAt } = issued;
  const call = { method: 'GET', path: '/orders/single', query: { orderNum: orderNum ?? SOME_ORDER } };
  const codes = formatCode(callURL({ baseURL, teamID }, call), call, `${apiID}:${apiSecret}`);
  return (
    <OneTimePanel title="New keys" what="The API Secret is" onStored={onStored}>
      <KeyValue
        rows={[
          ['Name', scope === undefined ? name : `${name}, scope ${scope}`],
          ['API ID', <CopyText text={apiID} label="Copy the new API ID" />],
          ['API Secret', <CopyText text={apiSecret} label="Copy the new API Secret" />],
          ...(oldKeysEndAt === null ? [] : [['Old keys', <OldKeysEnd at={oldKeysEndAt} />] as const]),
        ]}
      />
      <div>
        <h3 class="card-title">Test the keys</h3>
        <CodeTabs label="A call with the new keys" codes={codes} />
        {orderNum === null && (
          <p class="hint">
            You have no orders yet: valid keys get 404 NOT_FOUND, invalid keys 401 INVALID_CREDENTIALS.
          </p>
        )}
      </div>
    </OneTimePanel>
  );
}

const OldKeysEnd = ({ at }: { at: string }) =>
  Date.parse(at) <= Date.now() ? (
    'Expired. Apps that use them no longer work.'
  ) : (
    <>
      Valid until <Time at={at} />
    </>
  );
