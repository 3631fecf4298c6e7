/** Completes addresses that the service returns without a host, because it knows no host that it can trust. */

/**
 * Example: `toAddress('/dashboard/link#…')` at https://pims.example.com begins with that. Complete addresses stay
 * unchanged.
 */
export const toAddress = (path: string): string => new URL(path, location.origin).href;
