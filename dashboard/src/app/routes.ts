/**
 * The table of pages: pattern, code, and the trail shown above them. The code of a page is fetched on the first visit.
 */
import { isKind, KINDS } from '../api/records.ts';
import type { Crumb, Params, PageRoute } from '../router.tsx';

const kindLabel = (kind: string): string => (isKind(kind) ? KINDS[kind].label : kind);

type Crumbs = (params: Params) => Crumb[];
const trail =
  (...labels: string[]): Crumbs =>
  () =>
    labels.map((label) => ({ label }));
/** The trail of a page that names one of the things of the page above it. */
const below =
  (section: string, label: string, to: string, last: string): Crumbs =>
  ({ [last]: name = '' }) => [{ label: section }, { label, to }, { label: name }];
const record = ({ kind = 'orders', key = '' }: Params): Crumb[] => [
  { label: 'Records' },
  { label: kindLabel(kind), to: `/records/${kind}` },
  { label: key },
];

const DEVELOPER = 'Developer Settings';
const api = () => import('../pages/explorer/page.tsx').then((page) => page.ExplorerPage);

export const ROUTES: readonly PageRoute[] = [
  {
    pattern: '/sign-in',
    isPublic: true,
    load: () => import('../pages/account/sign-in-page.tsx').then((page) => page.SignInPage),
  },
  {
    pattern: '/link',
    isPublic: true,
    load: () => import('../pages/account/link-page.tsx').then((page) => page.LinkPage),
  },
  {
    pattern: '/records/orders/:key',
    load: () => import('../pages/orders/page.tsx').then((page) => page.OrderPage),
    crumbs: ({ key = '' }) => record({ kind: 'orders', key }),
  },
  {
    pattern: '/records/:kind/:key',
    load: () => import('../pages/records/record-page.tsx').then((page) => page.RecordPage),
    crumbs: record,
  },
  {
    pattern: '/records/:kind',
    load: () => import('../pages/records/list-page.tsx').then((page) => page.RecordsPage),
    crumbs: ({ kind = 'orders' }) => [{ label: 'Records' }, { label: kindLabel(kind) }],
  },
  {
    pattern: '/api-settings',
    load: () => import('../pages/api-settings/page.tsx').then((page) => page.ApiSettingsPage),
    crumbs: trail(DEVELOPER, 'API Settings'),
  },
  {
    pattern: '/usage',
    load: () => import('../pages/usage/page.tsx').then((page) => page.UsagePage),
    crumbs: trail(DEVELOPER, 'Usage'),
  },
  {
    pattern: '/requests',
    load: () => import('../pages/requests/list-page.tsx').then((page) => page.RequestListPage),
    crumbs: trail(DEVELOPER, 'Requests'),
  },
  {
    pattern: '/requests/:requestID',
    load: () => import('../pages/requests/request-page.tsx').then((page) => page.RequestPage),
    crumbs: below(DEVELOPER, 'Requests', '/requests', 'requestID'),
  },
  { pattern: '/explorer', load: api, crumbs: trail(DEVELOPER, 'API explorer') },
  { pattern: '/explorer/:operation', load: api, crumbs: below(DEVELOPER, 'API explorer', '/explorer', 'operation') },
  {
    pattern: '/fields',
    load: () => import('../pages/records/fields-page.tsx').then((page) => page.FieldsPage),
    crumbs: trail(DEVELOPER, 'Fields'),
  },
  {
    pattern: '/settings',
    load: () => import('../pages/team/settings-page.tsx').then((page) => page.SettingsPage),
    crumbs: trail('Team', 'Settings'),
  },
  {
    pattern: '/users',
    load: () => import('../pages/team/users-page.tsx').then((page) => page.UsersPage),
    crumbs: trail('Team', 'Users'),
  },
  {
    pattern: '/audit',
    load: () => import('../pages/team/audit-page.tsx').then((page) => page.AuditPage),
    crumbs: trail('Team', 'Audit log'),
  },
  {
    pattern: '/account',
    load: () => import('../pages/account/page.tsx').then((page) => page.AccountPage),
    crumbs: trail('Account'),
  },
];

export const NOT_FOUND: PageRoute = {
  pattern: '*',
  load: () => import('./not-found-page.tsx').then((page) => page.NotFoundPage),
  crumbs: () => [],
};
