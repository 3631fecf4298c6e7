/**
 * The state that a form shares with its fields and buttons: whether it is being sent, and its error.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ApiError } from '../api/client.ts';

interface FormState {
  readonly isBusy: boolean;
  readonly error: ApiError | undefined;
}
export const FormContext = createContext<FormState | null>(null);
/** Returns the state, or null outside a form. */
export const useFormState = (): FormState | null => useContext(FormContext);
