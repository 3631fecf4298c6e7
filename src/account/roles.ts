/** The roles of the dashboard. A viewer sees; a developer changes records and keys; an owner users and settings. */
export const ROLES = ['owner', 'developer', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role includes another: `mayAct('owner', 'viewer')` is true. */
export const mayAct = (role: Role, needed: Role): boolean => ROLES.indexOf(role) <= ROLES.indexOf(needed);
