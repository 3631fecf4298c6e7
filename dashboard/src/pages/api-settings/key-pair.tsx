/**
 * One pair of keys: issued when and by whom, last used when, and a warning when its secret came in a URL.
 */
import type { KeysView } from '../../../../src/http/dashboard/interface.ts';
import { CopyText } from '../../ui/copy.tsx';
import { KeyValue } from '../../ui/key-value.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Time } from '../../ui/time.tsx';

export type KeyRow = KeysView['keys'][number];

export const PairInForce = ({ pair }: { pair: KeyRow }) => (
  <KeyValue
    rows={[
      ['API ID', <CopyText text={pair.apiID} label="Copy the API ID" />],
      ['API Secret', <span class="muted">Shown once, when it was issued</span>],
      [
        'Issued',
        <>
          <Time at={pair.issuedAt} />
          {pair.issuedBy !== '' && ` by ${pair.issuedBy}`}
        </>,
      ],
      ['Last used', <LastUse pair={pair} />],
    ]}
  />
);

/** When a pair was last used, and from which address. */
export const LastUse = ({ pair: { lastUsedAt, lastUsedFrom } }: { pair: KeyRow }) => (
  <>
    <Time at={lastUsedAt} none="Not yet" />
    {lastUsedAt !== null && lastUsedFrom && (
      <>
        {' from '}
        <code>{lastUsedFrom}</code>
      </>
    )}
  </>
);

export const UrlWarning = ({ at }: { at: string }) => (
  <Notice tone="warn" title="The API Secret came in a URL">
    A program last sent it that way on <Time at={at} />. URLs end up in logs and histories, where others can read them.
    Send the pair in a Basic header instead (<code>Authorization: Basic …</code>, with curl <code>-u</code>), then
    replace the keys.
  </Notice>
);
