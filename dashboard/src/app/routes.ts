/**
 * The table of pages: pattern and code. The first matching pattern counts. The code of a page is fetched on the first
 * visit.
 */
import type { PageRoutes } from '../browser/router.tsx';

const explorer = () => import('../pages/explorer/page.tsx');

export const ROUTES: PageRoutes = {
  '/home': () => import('../pages/home/page.tsx'),
  '/sign-in': () => import('../pages/account/sign-in-page.tsx'),
  '/link': () => import('../pages/account/link-page.tsx'),
  '/records/orders/new': () => import('../pages/orders/new-page.tsx'),
  '/records/orders/:key/print': () => import('../pages/orders/print-page.tsx'),
  '/records/orders/:key': () => import('../pages/orders/page.tsx'),
  '/records/:kind/:key': () => import('../pages/records/record-page.tsx'),
  '/records/:kind': () => import('../pages/records/list-page.tsx'),
  '/api-settings': () => import('../pages/api-settings/page.tsx'),
  '/webhooks': () => import('../pages/webhooks/list-page.tsx'),
  '/webhooks/:id': () => import('../pages/webhooks/webhook-page.tsx'),
  '/changes': () => import('../pages/changes/page.tsx'),
  '/usage': () => import('../pages/usage/page.tsx'),
  '/requests': () => import('../pages/requests/list-page.tsx'),
  '/requests/:requestID': () => import('../pages/requests/request-page.tsx'),
  '/explorer': explorer,
  '/explorer/:operation': explorer,
  '/imports': () => import('../pages/import/page.tsx'),
  '/fields': () => import('../pages/records/fields-page.tsx'),
  '/settings': () => import('../pages/team/settings-page.tsx'),
  '/users': () => import('../pages/team/users-page.tsx'),
  '/audit': () => import('../pages/team/audit-page.tsx'),
  '/operate': () => import('../pages/operate/page.tsx'),
  '/account': () => import('../pages/account/page.tsx'),
};

/** The patterns of the pages that are shown to everyone, without the shell. */
export const PUBLIC: readonly string[] = ['/sign-in', '/link'];

export const loadNotFound = () => import('../ui/not-found-page.tsx');
