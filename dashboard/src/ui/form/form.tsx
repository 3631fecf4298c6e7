/**
 * A form for the service. It is busy while it is sent. An error is shown at its field, which gets the focus, or above
 * the form.
 */
import type { ComponentChildren, TargetedSubmitEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { forgetUnanswered, type ApiError } from '../../api/client.ts';
import { toApiError } from '../../api/use-load.ts';
import { FormContext } from '../form-state.ts';
import { Notice } from '../page.tsx';
import { countOf } from '../text/text.tsx';

/** Shows an error, with the request ID for a report. Example: `<FormError error={error} />`. */
const FormError = ({ error }: { error: ApiError }) => (
  <div tabIndex={-1} data-form-error>
    <Notice
      tone="bad"
      title={error.message + (error.retryAfterSeconds ? ` Try again in ${formatWait(error.retryAfterSeconds)}.` : '')}
    >
      {error.httpStatus >= 500 && error.requestId && `Request ${error.requestId}`}
    </Notice>
  </div>
);

const formatWait = (seconds: number) =>
  seconds < 90 ? countOf(seconds, 'second') : `${Math.ceil(seconds / 60)} minutes`;

interface FormProps {
  /** Sends the form. Throws the errors of `post`, or another ApiError with a `field`. */
  onSubmit: () => unknown;
  children?: ComponentChildren;
  label?: string;
  /** Whether Enter in a field does not send the form, as for scanners, which type it after each code. */
  isSentByButton?: boolean;
}

/**
 * Example: `<Form onSubmit={async () => { await post('/users', { email, role }); close();
 * }}>…fields…<Actions>…</Actions></Form>`.
 */
export function Form({ onSubmit, children, label, isSentByButton }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [state, setState] = useState<{ isBusy: boolean; error: ApiError | undefined; isAtField: boolean }>({
    isBusy: false,
    error: undefined,
    isAtField: false,
  });
  const findField = (name: string | undefined) =>
    name === undefined ? null : form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`);
  // A form that opens later means another write.
  useLayoutEffect(() => forgetUnanswered, []);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (state.isBusy) return;
    setState((before) => ({ ...before, isBusy: true }));
    try {
      await onSubmit();
      setState({ isBusy: false, error: undefined, isAtField: false });
    } catch (fault) {
      const error = toApiError(fault);
      setState({ isBusy: false, error, isAtField: Boolean(findField(error.field)) });
    }
  };
  useLayoutEffect(() => {
    if (state.error !== undefined)
      (findField(state.error.field) ?? form.current?.querySelector<HTMLElement>('[data-form-error]'))?.focus();
  }, [state.error]);
  return (
    <FormContext.Provider value={state}>
      <form
        class="form"
        ref={form}
        onSubmit={(event) => void submit(event)}
        onKeyDown={(event) => {
          if (isSentByButton && event.key === 'Enter' && event.target instanceof HTMLInputElement)
            event.preventDefault();
        }}
        aria-label={label}
      >
        {state.error && !state.isAtField && <FormError error={state.error} />}
        {children}
      </form>
    </FormContext.Provider>
  );
}
