/**
 * Addresses that the service answers without a host, since it knows none that it can trust.
 */

/** Example: `toAddress('/dashboard/link#…')` at https://pims.example.com begins with that. Whole addresses stay. */
export const toAddress = (path: string): string => new URL(path, location.origin).href;
