/** The users of a tenant's dashboard: lists, invites and removes them, changes roles, issues links, ends sessions. */
import { ROLES } from '../account/roles.ts';
import {
  changeRole,
  deleteUser,
  formatLink,
  inviteUser,
  renewLink,
  signOutUser,
  viewUser,
  type IssuedLink,
} from '../account/users.ts';
import { objectOf, oneOf, textOf } from '../json-schema.ts';
import { action, withHelp } from './action.ts';

const email = textOf();
const USER = objectOf({ email });
const USER_WITH_ROLE = objectOf({ email, role: withHelp(oneOf(ROLES), 'what the user may do') });

/** The one-time link that sets a password. Like every address, it may have no host. */
const viewLink = (origin: string, { token, endsAt }: IssuedLink) => ({ link: formatLink(origin, token), endsAt });
const showLink = ({ email: to, link, endsAt }: ReturnType<typeof viewLink> & { readonly email: string }) => [
  link,
  `This link sets the password of ${to}. It works once, until ${endsAt}, and is not shown again.`,
];

export const USERS = {
  'POST /users': action({
    about: 'Create a user and print the one-time link that sets a password.',
    role: 'owner',
    proof: 'recent',
    takes: USER_WITH_ROLE,
    notes: 'user invited',
    run: async (context, given) => viewLink(context.publicUrl, await inviteUser(context, given)),
    command: 'user create <team> <email>',
    example: '--role owner',
    show: (told) => showLink(told),
  }),
  'POST /users/link': action({
    about:
      'Print a new one-time link. Using it sets a new password, turns off two-step verification and ends all sessions.',
    role: 'owner',
    proof: 'recent',
    takes: USER,
    notes: 'link renewed',
    run: async (context, given) => viewLink(context.publicUrl, await renewLink(context, given)),
    command: 'user link <team> <email>',
    show: (told) => showLink(told),
  }),
  'GET /users': action({
    about: 'List the users of a tenant.',
    role: 'owner',
    run: async ({ users, teamId }) => ({ users: (await users.listUsers(teamId)).map(viewUser) }),
    command: 'user list <team>',
    show: ({ users }) => [
      [
        ['EMAIL', 'ROLE', 'MADE', 'PASSWORD', 'TWO-STEP VERIFICATION'],
        ...users.map(({ email: of, role, createdAt, hasPassword, hasSecondFactor }) => {
          return [of, role, createdAt.slice(0, 10), hasPassword ? 'set' : 'not yet', hasSecondFactor ? 'on' : 'off'];
        }),
      ],
    ],
  }),
  'POST /users/role': action({
    about: 'Change the role of a user.',
    role: 'owner',
    proof: 'recent',
    takes: USER_WITH_ROLE,
    notes: 'role changed',
    /** Throws LAST_OWNER. */
    run: changeRole,
    command: 'user role <team> <email>',
    example: '--role developer',
    json: ({ role }) => ({ role }),
    show: ({ teamID, email: of, role }) => [`${of} now has the role ${role} in ${teamID}.`],
  }),
  'user sign-out': action({
    about: 'End all sessions of a user, for example after a theft. The password keeps working.',
    takes: USER,
    notes: 'sessions ended',
    run: signOutUser,
    command: 'user sign-out <team> <email>',
    json: () => ({ signedOut: true }),
    show: ({ teamID, email: of }) => [`Ended all sessions of ${of} of ${teamID}.`],
  }),
  'POST /users/remove': action({
    about: 'Remove a user and end all their sessions.',
    role: 'owner',
    proof: 'recent',
    takes: USER,
    notes: 'user removed',
    run: deleteUser,
    command: 'user remove <team> <email>',
    json: () => ({ removed: true }),
    show: ({ teamID, email: of }) => [`Removed ${of} of ${teamID}.`],
  }),
};
