/** The page for an unknown address. */
import { HOME } from '../api/session.tsx';
import { ButtonLink } from './button.tsx';
import { Page } from './page.tsx';

const NotFoundPage = () => (
  <Page title="Page not found" description="Check the address for typing errors.">
    <p>
      <ButtonLink to={HOME}>Home</ButtonLink>
    </p>
  </Page>
);

export default NotFoundPage;
