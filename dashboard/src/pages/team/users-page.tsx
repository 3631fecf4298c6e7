/**
 * The users of the team, for owners: the list, and which dialog of user-dialogs.tsx is open.
 */
import { useState } from 'preact/hooks';
import type { UserLinkView } from '../../../../src/http/dashboard/interface.ts';
import { useGet } from '../../api/use-load.ts';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/text/text.tsx';
import { Button } from '../../ui/button.tsx';
import { Page } from '../../ui/page.tsx';
import { Table, timeColumn, type TableColumn } from '../../ui/table/table.tsx';
import { ChangeRole, Invite, NewLink, RemoveUser, ShowLink, type UserRow } from './user-dialogs.tsx';
import { OwnersOnly } from './owners-only.tsx';

type Open =
  | { readonly dialog: 'invite' }
  | { readonly dialog: 'role' | 'link' | 'remove'; readonly user: UserRow }
  | { readonly dialog: 'issued'; readonly email: string; readonly link: UserLinkView };

const COLUMNS: readonly TableColumn<UserRow>[] = [
  {
    key: 'email',
    head: 'Email',
    cell: ({ email, isYou }) => (
      <span class="user-cell">
        <span title={email}>{email}</span>
        {isYou && <Badge tone="info">You</Badge>}
      </span>
    ),
  },
  { key: 'role', head: 'Role', cell: ({ role }) => <Badge>{role}</Badge> },
  {
    key: 'password',
    head: 'Password',
    cell: ({ hasPassword }) => (hasPassword ? <Badge tone="good">Set</Badge> : <Badge tone="warn">Not set yet</Badge>),
  },
  {
    key: 'factor',
    head: 'Two-step verification',
    cell: ({ hasSecondFactor }) => (hasSecondFactor ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>),
  },
  { ...timeColumn('createdAt', 'Created', 'days'), isHiddenOnPhone: true },
];

const ROW_ACTIONS = [
  ['role', 'Change role', 'of '],
  ['link', 'New link', 'for '],
  ['remove', 'Remove', ''],
] as const;

export default function UsersPage() {
  const { may } = useSession();
  return may('owner') ? <Users /> : <OwnersOnly title="Users" />;
}

function Users() {
  const users = useGet('/users');
  const { data, reload } = users;
  const { user } = useSession();
  const rows = data?.users.map((one) => ({ ...one, isYou: one.email === user.email }));
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const showLink = (email: string, link: UserLinkView) => {
    setOpen({ dialog: 'issued', email, link });
    reload();
  };
  const actions: TableColumn<UserRow> = {
    key: 'actions',
    head: 'Actions',
    align: 'end',
    cell: (row) => (
      <span class="row-actions">
        {ROW_ACTIONS.map(([dialog, label, preposition]) => (
          <Button
            key={dialog}
            size="small"
            tone="quiet"
            aria-label={`${label} ${preposition}${row.email}`}
            onClick={() => setOpen({ dialog, user: row })}
          >
            {label}
          </Button>
        ))}
      </span>
    ),
  };
  return (
    <Page
      title="Users"
      description="Users are people who can sign in. Apps use API keys."
      actions={
        <Button tone="primary" icon="plus" onClick={() => setOpen({ dialog: 'invite' })}>
          Invite user
        </Button>
      }
    >
      <Table label="Users" columns={[...COLUMNS, actions]} rows={rows} from={users} rowKey="email" skeletonRows={3} />
      {open?.dialog === 'invite' && <Invite onIssued={showLink} onClose={close} />}
      {open?.dialog === 'role' && <ChangeRole user={open.user} onChanged={reload} onClose={close} />}
      {open?.dialog === 'link' && <NewLink user={open.user} onIssued={showLink} onClose={close} />}
      {open?.dialog === 'remove' && <RemoveUser user={open.user} onRemoved={reload} onClose={close} />}
      {open?.dialog === 'issued' && <ShowLink email={open.email} link={open.link} onClose={close} />}
    </Page>
  );
}
