/**
 * What a form tells the fields and buttons in it: whether it is being sent, and what was refused. Only the shared state; the form is form.tsx.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { ApiError } from '../api/client.ts';

export interface FormState {
  readonly isBusy: boolean;
  readonly error: ApiError | undefined;
}
export const FormContext = createContext<FormState | null>(null);
/** null outside a form. */
export const useFormState = (): FormState | null => useContext(FormContext);
