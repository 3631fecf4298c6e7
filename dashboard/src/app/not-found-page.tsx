/**
 * The page for an address that names no page.
 */
import { HOME } from '../session.tsx';
import { ButtonLink } from '../ui/button.tsx';
import { Page } from '../ui/page.tsx';

export function NotFoundPage() {
  return (
    <Page title="There is no such page" description="The address may be mistyped, or the page has moved.">
      <p>
        <ButtonLink to={HOME}>Orders</ButtonLink>
      </p>
    </Page>
  );
}
