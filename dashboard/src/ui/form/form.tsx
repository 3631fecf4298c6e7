/**
 * A form that is sent to the service: busy while it is, with the refusal at the field it names or above the form, where
 * the focus goes.
 */
import type { ComponentChildren, TargetedSubmitEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../../api/client.ts';
import { toApiError } from '../../api/use-load.ts';
import { FormContext } from './form-state.ts';
import { Icon } from '../icon.tsx';

/** What was refused, with the request ID for a report. Example: `<FormError error={error} />`. */
function FormError({ error }: { error: ApiError | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  return (
    <div role="alert" ref={box} tabIndex={-1} class={error === undefined ? 'nothing' : 'notice bad'} data-form-error>
      {error !== undefined && (
        <>
          <Icon name="warning" />
          <div>
            <p>
              {error.message}
              {error.retryAfterSeconds !== undefined && ` Try again in ${formatWait(error.retryAfterSeconds)}.`}
            </p>
            {error.httpStatus >= 500 && error.requestId !== undefined && (
              <p class="muted small">Request {error.requestId}</p>
            )}
          </div>
        </>
      )}
    </div>
  );
}

const formatWait = (seconds: number): string =>
  seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;

export interface FormProps {
  /** Throws what `post` throws; may also throw another ApiError with a `field`. */
  onSubmit: () => Promise<unknown>;
  children: ComponentChildren;
  label?: string | undefined;
}

/**
 * Example: `<Form onSubmit={async () => { await post('/users', { email, role }); close();
 * }}>…fields…<Actions>…</Actions></Form>`.
 */
export function Form({ onSubmit, children, label }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [state, setState] = useState<{ isBusy: boolean; error: ApiError | undefined; isAtField: boolean }>({
    isBusy: false,
    error: undefined,
    isAtField: false,
  });
  const findField = (name: string | undefined) =>
    name === undefined ? null : form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`);
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
      <form class="form" ref={form} onSubmit={(event) => void submit(event)} noValidate={false} aria-label={label}>
        <FormError error={state.isAtField ? undefined : state.error} />
        {children}
      </form>
    </FormContext.Provider>
  );
}
