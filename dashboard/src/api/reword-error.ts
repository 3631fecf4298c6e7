/** Rewords an error of the service for a form, and assigns it to a field of that form. */
import { ApiError, hasCode } from './client.ts';

/**
 * Example: `await rewordError(post('/users/remove', { email }), 'LAST_OWNER', { message: 'Ann is the only owner.' })`;
 * other errors pass unchanged.
 */
export async function rewordError<T>(
  response: Promise<T>,
  code: string,
  { message, field }: { message?: string; field?: string },
): Promise<T> {
  try {
    return await response;
  } catch (fault) {
    if (!hasCode(fault, code)) throw fault;
    throw new ApiError(code, message ?? fault.message, fault.httpStatus, { field, requestId: fault.requestId });
  }
}
