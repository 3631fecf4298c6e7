/** The placeholder for a page that only owners may see. */
import { useSession } from '../../api/session.tsx';
import { Notice, Page } from '../../ui/page.tsx';

/** Example: `<OwnersOnly title="Users" />`. */
export function OwnersOnly({ title }: { title: string }) {
  const { user } = useSession();
  return (
    <Page title={title}>
      <Notice title="Only owners can see this page">Your role is {user.role}. Ask an owner to change it.</Notice>
    </Page>
  );
}
