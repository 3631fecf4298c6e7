/**
 * What a user of a tenant may do in the dashboard. A viewer sees; a developer also changes records, fields and keys; an owner also users and settings.
 * Decides nothing about API keys, which may do everything the API can.
 */

export const ROLES = ['owner', 'developer', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role may do what needs at least the other one. */
export const mayAct = (role: Role, needed: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(needed);
