/**
 * The roles of the dashboard. A viewer can read, a clerk can also change records and stock, a developer also keys, and
 * an owner everything.
 */
export const ROLES = ['owner', 'developer', 'clerk', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** Returns whether a role includes another: `mayAct('owner', 'viewer')` is true. */
export const mayAct = (role: Role, needed: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(needed);
