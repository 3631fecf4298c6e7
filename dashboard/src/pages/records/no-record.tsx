/** The page for the address of a record that does not exist. */
import { KINDS, type Kind } from '../../api/records.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';
import { shorten } from '../../ui/text/text.tsx';

/** Example: `<NoRecord kind="orders" code="99999" />`. */
export const NoRecord = ({ kind, code }: { kind: Kind; code: string }) => (
  <Page title={`No ${KINDS[kind].noun} '${shorten(code, 120)}'`} description="Capital letters matter.">
    <p>
      <ButtonLink to={`/records/${kind}`}>{KINDS[kind].label}</ButtonLink>
    </p>
  </Page>
);
