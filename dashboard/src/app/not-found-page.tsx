/** The page for an unknown address. */
import { HOME } from '../session.tsx';
import { ButtonLink } from '../ui/button.tsx';
import { Page } from '../ui/page.tsx';

const NotFoundPage = () => (
  <Page title="Page not found" description="Check the address for typing errors.">
    <p>
      <ButtonLink to={HOME}>Home</ButtonLink>
    </p>
  </Page>
);

export default NotFoundPage;
