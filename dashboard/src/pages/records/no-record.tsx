/**
 * Shown for an address that names a record that does not exist.
 */
import { KINDS, type Kind } from '../../api/records.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';

/** Example: `<NoRecord kind="orders" code="99999" />`. */
export const NoRecord = ({ kind, code }: { kind: Kind; code: string }) => (
  <Page
    title={`There is no such ${KINDS[kind].noun}`}
    description={<bdi>{`Nothing has the ${KINDS[kind].key} '${code}'. Upper and lower case count.`}</bdi>}
  >
    <p>
      <ButtonLink to={`/records/${kind}`}>{KINDS[kind].label}</ButtonLink>
    </p>
  </Page>
);
