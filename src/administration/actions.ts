/**
 * The list of all actions of administration, in the order of the help. The name of an action is its method and path
 * below /dashboard/api, or its command if only the operator may use it.
 */
import { AUDIT } from './audit.ts';
import { CALLS } from './calls.ts';
import { KEYS } from './keys.ts';
import { OPERATE } from './operate.ts';
import { ORDERS } from './orders.ts';
import { RECORDS } from './records.ts';
import { TENANTS } from './tenants.ts';
import { USERS } from './users.ts';
import { WEBHOOKS } from './webhooks.ts';

export const ACTIONS = {
  ...TENANTS,
  ...KEYS,
  ...WEBHOOKS,
  ...USERS,
  ...RECORDS,
  ...ORDERS,
  ...CALLS,
  ...AUDIT,
  ...OPERATE,
};
