/**
 * Fields of a form: each with its label, a hint, and what was refused about it (its own `error`, or the form's refusal that names it). Values are the
 * page's: a field shows `value` and tells `onValue`.
 */
import type { ComponentChildren, TargetedFocusEvent, TargetedKeyboardEvent } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useFormState } from './form-state.ts';
import { IconButton } from './button.tsx';

interface Labelled {
  label: string;
  /** The name of the member in the request, by which a refusal finds the field. */
  name: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  /** Label read out, not shown: for filters above a table. */
  isLabelHidden?: boolean | undefined;
}
interface Valued {
  value: string;
  onValue: (value: string) => void;
}

function useFieldState({ name, hint, error }: Labelled) {
  const id = useId();
  const form = useFormState();
  const fault = error ?? (form?.error?.field === name ? form.error.message : undefined);
  const describedBy =
    [fault !== undefined && `${id}-error`, hint !== undefined && `${id}-hint`].filter(Boolean).join(' ') || undefined;
  return { id, fault, aria: { 'aria-invalid': fault !== undefined || undefined, 'aria-describedby': describedBy } };
}

/** The attribute works once a page, at most; fields come later than that. */
function useAutofocus(isWanted: boolean | undefined) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (isWanted) input.current?.focus();
  }, []);
  return input;
}

function Frame({
  id,
  fault,
  field,
  children,
}: {
  id: string;
  fault: string | undefined;
  field: Labelled;
  children: ComponentChildren;
}) {
  return (
    <div class="field">
      <label for={id} class={field.isLabelHidden ? 'hidden' : 'label'}>
        {field.label}
      </label>
      {children}
      {fault !== undefined && (
        <p class="field-error" id={`${id}-error`}>
          {fault}
        </p>
      )}
      {field.hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {field.hint}
        </p>
      )}
    </div>
  );
}

/** What else of an input may be said. */
interface Control<Element extends EventTarget> {
  placeholder?: string | undefined;
  required?: boolean | undefined;
  readOnly?: boolean | undefined;
  disabled?: boolean | undefined;
  autofocus?: boolean | undefined;
  autocomplete?: string | undefined;
  autocapitalize?: 'off' | 'characters' | undefined;
  spellcheck?: boolean | undefined;
  maxLength?: number | undefined;
  onKeyDown?: ((event: TargetedKeyboardEvent<Element>) => void) | undefined;
  onBlur?: ((event: TargetedFocusEvent<Element>) => void) | undefined;
}
interface InputProps extends Control<HTMLInputElement> {
  inputmode?: 'numeric' | 'decimal' | undefined;
  pattern?: string | undefined;
  title?: string | undefined;
  min?: string | number | undefined;
  max?: string | number | undefined;
  step?: string | number | undefined;
  /** id of a <datalist>. */
  list?: string | undefined;
}
export type TextFieldProps = InputProps &
  Labelled &
  Valued & {
    type?: 'text' | 'email' | 'search' | 'number' | 'date' | 'datetime-local' | 'month' | 'password';
    isMono?: boolean;
  };

/** Example: `<TextField label="E-mail address" name="email" type="email" value={email} onValue={setEmail} autocomplete="username" required />`. */
export function TextField({
  label,
  name,
  hint,
  error,
  isLabelHidden,
  value,
  onValue,
  type = 'text',
  isMono,
  ...rest
}: TextFieldProps) {
  const field = { label, name, hint, error, isLabelHidden };
  const { id, fault, aria } = useFieldState(field);
  const input = useAutofocus(rest.autofocus);
  const control: object = { ...rest, type }; // The types of preact ask for one type at a time.
  return (
    <Frame id={id} fault={fault} field={field}>
      <input
        {...control}
        ref={input}
        {...aria}
        id={id}
        name={name}
        class={isMono ? 'input mono' : 'input'}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    </Frame>
  );
}

export type TextAreaProps = Control<HTMLTextAreaElement> & Labelled & Valued & { isMono?: boolean; rows?: number };

/** Example: `<TextArea label="Body" name="body" isMono rows={12} value={body} onValue={setBody} />`. */
export function TextArea({ label, name, hint, error, isLabelHidden, value, onValue, isMono, ...rest }: TextAreaProps) {
  const field = { label, name, hint, error, isLabelHidden };
  const { id, fault, aria } = useFieldState(field);
  return (
    <Frame id={id} fault={fault} field={field}>
      <textarea
        {...rest}
        {...aria}
        id={id}
        name={name}
        class={isMono ? 'input mono' : 'input'}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    </Frame>
  );
}

export type PasswordFieldProps = InputProps & Labelled & Valued & { autocomplete: 'current-password' | 'new-password' };

/** Example: `<PasswordField label="Password" name="password" autocomplete="current-password" value={password} onValue={setPassword} required />`. */
export function PasswordField({
  label,
  name,
  hint,
  error,
  isLabelHidden,
  value,
  onValue,
  ...rest
}: PasswordFieldProps) {
  const field = { label, name, hint, error, isLabelHidden };
  const { id, fault, aria } = useFieldState(field);
  const [isShown, setShown] = useState(false);
  const input = useAutofocus(rest.autofocus);
  const control: object = { ...rest, type: isShown ? 'text' : 'password' };
  return (
    <Frame id={id} fault={fault} field={field}>
      <div class="input-with-button">
        <input
          {...control}
          ref={input}
          {...aria}
          id={id}
          name={name}
          class="input"
          maxLength={256}
          spellcheck={false}
          autocapitalize="off"
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
        <IconButton
          icon={isShown ? 'hide' : 'show'}
          label={`${isShown ? 'Hide' : 'Show'} ${label.toLowerCase()}`}
          onClick={() => setShown(!isShown)}
        />
      </div>
    </Frame>
  );
}

interface Option {
  readonly value: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly isDisabled?: boolean;
}
export type SelectProps = Labelled &
  Valued & { required?: boolean; disabled?: boolean | undefined } & { options: readonly Option[] };

/** Example: `<Select label="Role" name="role" value={role} onValue={setRole} options={[{ value: 'viewer', label: 'Viewer' }]} />`. */
export function Select({ label, name, hint, error, isLabelHidden, value, onValue, options, ...rest }: SelectProps) {
  const field = { label, name, hint, error, isLabelHidden };
  const { id, fault, aria } = useFieldState(field);
  return (
    <Frame id={id} fault={fault} field={field}>
      <select
        {...rest}
        {...aria}
        id={id}
        name={name}
        class="input"
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.isDisabled}>
            {option.label}
          </option>
        ))}
      </select>
    </Frame>
  );
}

export interface CheckboxProps {
  label: ComponentChildren;
  name: string;
  isChecked: boolean;
  onChecked: (isChecked: boolean) => void;
  hint?: ComponentChildren;
  disabled?: boolean | undefined;
}

/** Example: `<Checkbox label="Strict references" name="strict" isChecked={strict} onChecked={setStrict} hint="Unknown part codes are refused." />`. */
export function Checkbox({ label, name, isChecked, onChecked, hint, disabled }: CheckboxProps) {
  const id = useId();
  const describedBy = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="choice">
      <input
        id={id}
        type="checkbox"
        name={name}
        checked={isChecked}
        disabled={disabled}
        aria-describedby={describedBy}
        onInput={(event) => onChecked(event.currentTarget.checked)}
      />
      <div>
        <label for={id}>{label}</label>
        {hint !== undefined && (
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

export type RadioGroupProps = Labelled & Valued & { options: readonly Option[]; autofocus?: boolean };

/** Example: `<RadioGroup label="Old keys" name="overlap" value={overlap} onValue={setOverlap} options={[{ value: 'none', label: 'End at once', hint: '…' }]} />`. */
export function RadioGroup({
  label,
  name,
  hint,
  error,
  isLabelHidden,
  value,
  onValue,
  options,
  autofocus,
}: RadioGroupProps) {
  const { id, fault, aria } = useFieldState({ label, name, hint, error });
  return (
    <fieldset class="field" aria-describedby={aria['aria-describedby']}>
      <legend class={isLabelHidden ? 'hidden' : 'label'}>{label}</legend>
      {
        fault !== undefined && (
          <p class="field-error" id={`${id}-error`}>
            {fault}
          </p>
        ) /* prettier-ignore */
      }
      {
        hint !== undefined && (
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        ) /* prettier-ignore */
      }
      {options.map((option) => (
        <div class="choice" key={option.value}>
          <input
            id={`${id}-${option.value}`}
            type="radio"
            name={name}
            checked={value === option.value}
            autofocus={autofocus && value === option.value}
            disabled={option.isDisabled}
            aria-describedby={option.hint === undefined ? undefined : `${id}-${option.value}-hint`}
            onInput={() => onValue(option.value)}
          />
          <div>
            <label for={`${id}-${option.value}`}>{option.label}</label>
            {
              option.hint !== undefined && (
                <p class="hint" id={`${id}-${option.value}-hint`}>
                  {option.hint}
                </p>
              ) /* prettier-ignore */
            }
          </div>
        </div>
      ))}
    </fieldset>
  );
}
