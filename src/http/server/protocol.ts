/** The base path of the service, and the headers of all its responses. */

/** The path below which the operations are. */
export const BASE_PATH = '/tenant/api/pims/v1';

export const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Default headers of responses. Pages of the service replace some. The policy prevents a browser from running a
 * response as a page.
 */
export const STATIC_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};
