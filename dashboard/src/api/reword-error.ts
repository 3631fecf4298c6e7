/**
 * Saying a refusal in the words of the form it came from: the service says the same of every wrong sign-in, a form that asked for one thing knows
 * which. Changes nothing but words and field.
 */
import { ApiError } from './client.ts';

/** Example: `await rewordError(post('/users/remove', { email }), 'LAST_OWNER', 'Ann is the only owner.')`; other refusals pass as they are. */
export async function rewordError<T>(answer: Promise<T>, code: string, message: string, field?: string): Promise<T> {
  try {
    return await answer;
  } catch (fault) {
    if (!(fault instanceof ApiError) || fault.code !== code) throw fault;
    throw new ApiError(code, message, fault.httpStatus, { field, requestId: fault.requestId });
  }
}
