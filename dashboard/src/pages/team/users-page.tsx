/**
 * The users of the team, for owners: the list, and which dialog of user-dialogs.tsx is open.
 */
import type { UserLinkView } from '../../../../src/http/dashboard/interface.ts';
import { useGet } from '../../api/use-load.ts';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/text/text.tsx';
import { Button } from '../../ui/button.tsx';
import { openDialog } from '../../ui/dialog/dialog.tsx';
import { Page } from '../../ui/page.tsx';
import { column, Table, timeColumn, type TableColumn } from '../../ui/table/table.tsx';
import { ChangeRole, Invite, NewLink, RemoveUser, ShowLink, type UserRow } from './user-dialogs.tsx';
import { OwnersOnly } from './owners-only.tsx';

const COLUMNS: readonly TableColumn<UserRow>[] = [
  column('Email', ({ email, isYou }) => (
    <span class="user-cell">
      <span title={email}>{email}</span>
      {isYou && <Badge tone="info">You</Badge>}
    </span>
  )),
  column('Role', ({ role }) => <Badge>{role}</Badge>),
  column('Password', ({ hasPassword }) =>
    hasPassword ? <Badge tone="good">Set</Badge> : <Badge tone="warn">Not set yet</Badge>,
  ),
  column('Two-step verification', ({ hasSecondFactor }) =>
    hasSecondFactor ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>,
  ),
  timeColumn('createdAt', 'Created', 'days', 'not-on-phone'),
];

export default function UsersPage() {
  const { may } = useSession();
  return may('owner') ? <Users /> : <OwnersOnly title="Users" />;
}

function Users() {
  const users = useGet('/users');
  const { data, reload } = users;
  const { user } = useSession();
  const rows = data?.users.map((one) => ({ ...one, isYou: one.email === user.email }));
  const showLink = (email: string, link: UserLinkView) => {
    openDialog(<ShowLink email={email} link={link} />);
    reload();
  };
  const actionsOf = (row: UserRow) =>
    [
      ['Change role', 'of ', <ChangeRole user={row} onChanged={reload} />],
      ['New link', 'for ', <NewLink user={row} onIssued={showLink} />],
      ['Remove', '', <RemoveUser user={row} onRemoved={reload} />],
    ] as const;
  const actions: TableColumn<UserRow> = column(
    'Actions',
    (row) => (
      <span class="row-actions">
        {actionsOf(row).map(([label, preposition, dialog]) => (
          <Button
            key={label}
            size="small"
            tone="quiet"
            aria-label={`${label} ${preposition}${row.email}`}
            onClick={() => openDialog(dialog)}
          >
            {label}
          </Button>
        ))}
      </span>
    ),
    'end',
  );
  return (
    <Page
      title="Users"
      description="Users are people who can sign in. Apps use API keys."
      actions={
        <Button tone="primary" icon="plus" onClick={() => openDialog(<Invite onIssued={showLink} />)}>
          Invite user
        </Button>
      }
    >
      <Table label="Users" columns={[...COLUMNS, actions]} rows={rows} from={users} rowKey="email" skeletonRows={3} />
    </Page>
  );
}
