/** The two calls that tests of load and failures make most, through a service or an HttpClient. */
import type { Answer, Keys, Service } from './service.ts';

type Caller = Pick<Service, 'call'>;

export const getOrder = (caller: Caller, keys: Keys, orderNum: string): Promise<Answer> =>
  caller.call(keys, 'GET', '/orders/single', { query: { orderNum } });

export const createOrder = (
  caller: Caller,
  keys: Keys,
  body: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<Answer> => caller.call(keys, 'PUT', '/orders/create', { body, headers });
