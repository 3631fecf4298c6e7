/**
 * The list of all routes of the dashboard. A route has the least role of its callers (none: no session is needed), the
 * proof that a change needs, and the schema of its query or body; interface.ts has the types of the pages.
 */
import { ACTIONS } from '../../administration/actions.ts';
import { ACCOUNT_ROUTES } from './account-routes.ts';

const TABLE = { ...ACCOUNT_ROUTES, ...ACTIONS };
export type RouteName = Extract<keyof typeof TABLE, `${'GET' | 'POST'} ${string}`>;
export type Routes = Pick<typeof TABLE, RouteName>;

export const ROUTES = Object.fromEntries(
  Object.entries(TABLE).filter(([name]) => /^(GET|POST) /.test(name)),
) as unknown as Routes;
