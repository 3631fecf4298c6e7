/**
 * The roles of a tenant's users in the dashboard. A viewer sees; a developer also changes records, fields and keys; an
 * owner also users and settings.
 */
export const ROLES = ['owner', 'developer', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role includes another: `mayAct('owner', 'viewer')` is true. */
export const mayAct = (role: Role, needed: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(needed);
