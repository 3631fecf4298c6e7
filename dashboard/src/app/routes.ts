/**
 * The table of pages: pattern and code. The code of a page is fetched on the first visit.
 */
import type { PageRoute } from '../router.tsx';

const explorer = () => import('../pages/explorer/page.tsx').then((page) => page.ExplorerPage);

export const ROUTES: readonly PageRoute[] = [
  { pattern: '/home', load: () => import('../pages/home/page.tsx').then((page) => page.HomePage) },
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
    pattern: '/records/orders/new',
    load: () => import('../pages/orders/new-page.tsx').then((page) => page.NewOrderPage),
  },
  {
    pattern: '/records/orders/:key/print',
    load: () => import('../pages/orders/print-page.tsx').then((page) => page.PrintPage),
  },
  {
    pattern: '/records/orders/:key',
    load: () => import('../pages/orders/page.tsx').then((page) => page.OrderPage),
  },
  {
    pattern: '/records/:kind/:key',
    load: () => import('../pages/records/record-page.tsx').then((page) => page.RecordPage),
  },
  {
    pattern: '/records/:kind',
    load: () => import('../pages/records/list-page.tsx').then((page) => page.RecordsPage),
  },
  {
    pattern: '/api-settings',
    load: () => import('../pages/api-settings/page.tsx').then((page) => page.ApiSettingsPage),
  },
  { pattern: '/webhooks', load: () => import('../pages/webhooks/list-page.tsx').then((page) => page.WebhooksPage) },
  {
    pattern: '/webhooks/:id',
    load: () => import('../pages/webhooks/webhook-page.tsx').then((page) => page.WebhookPage),
  },
  { pattern: '/changes', load: () => import('../pages/changes/page.tsx').then((page) => page.ChangesPage) },
  { pattern: '/usage', load: () => import('../pages/usage/page.tsx').then((page) => page.UsagePage) },
  {
    pattern: '/requests',
    load: () => import('../pages/requests/list-page.tsx').then((page) => page.RequestListPage),
  },
  {
    pattern: '/requests/:requestID',
    load: () => import('../pages/requests/request-page.tsx').then((page) => page.RequestPage),
  },
  { pattern: '/explorer', load: explorer },
  { pattern: '/explorer/:operation', load: explorer },
  { pattern: '/imports', load: () => import('../pages/import/page.tsx').then((page) => page.ImportPage) },
  { pattern: '/fields', load: () => import('../pages/records/fields-page.tsx').then((page) => page.FieldsPage) },
  { pattern: '/settings', load: () => import('../pages/team/settings-page.tsx').then((page) => page.SettingsPage) },
  { pattern: '/users', load: () => import('../pages/team/users-page.tsx').then((page) => page.UsersPage) },
  { pattern: '/audit', load: () => import('../pages/team/audit-page.tsx').then((page) => page.AuditPage) },
  { pattern: '/operate', load: () => import('../pages/operate/page.tsx').then((page) => page.OperatePage) },
  { pattern: '/account', load: () => import('../pages/account/page.tsx').then((page) => page.AccountPage) },
];

export const NOT_FOUND: PageRoute = {
  pattern: '*',
  load: () => import('./not-found-page.tsx').then((page) => page.NotFoundPage),
};
