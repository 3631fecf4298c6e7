/**
 * Replaces the message of a refusal by one in the words of the form it came from.
 */
import { ApiError } from './client.ts';

/**
 * Example: `await rewordError(post('/users/remove', { email }), 'LAST_OWNER', 'Ann is the only owner.')`; other
 * refusals pass unchanged.
 */
export async function rewordError<T>(answer: Promise<T>, code: string, message: string, field?: string): Promise<T> {
  try {
    return await answer;
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.code !== code) throw fault;
    throw new ApiError(code, message, fault.httpStatus, { field, requestId: fault.requestId });
  }
}
