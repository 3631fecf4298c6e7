/**
 * Fields of a form: each with its label, a hint, and the refusal about it (its own `error`, or the form's refusal that
 * names it). The page holds the value: a field shows `value` and calls `onValue`.
 */
import type { ComponentChildren, TargetedFocusEvent, TargetedInputEvent, TargetedKeyboardEvent } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { PASSWORD_MAX } from '../../../../src/account/account-bounds.ts';
import { useFormState } from './form-state.ts';
import { IconButton } from '../button.tsx';

interface Labelled {
  label: string;
  /** The name of the member in the request, by which a refusal finds the field. */
  name: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  /** The label is read out and not shown: for filters above a table. */
  isLabelHidden?: boolean | undefined;
}
interface Valued<Value extends string = string> {
  value: Value;
  onValue: (value: Value) => void;
}

const Hint = ({ id, children }: { id: string; children: ComponentChildren }) =>
  children === undefined ? null : (
    <p class="hint" id={`${id}-hint`}>
      {children}
    </p>
  );

const Fault = ({ id, children }: { id: string; children: string | undefined }) =>
  children === undefined ? null : (
    <p class="field-error" id={`${id}-error`}>
      {children}
    </p>
  );

/** The id of a field, its refusal, and the attributes that bind its input to label, hint and refusal. */
function useField({ name, hint, error }: Labelled) {
  const id = useId();
  const form = useFormState();
  const fault = error ?? (form?.error?.field === name ? form.error.message : undefined);
  const describedBy =
    [fault !== undefined && `${id}-error`, hint !== undefined && `${id}-hint`].filter(Boolean).join(' ') || undefined;
  return {
    id,
    fault,
    bound: { id, name, 'aria-invalid': fault !== undefined || undefined, 'aria-describedby': describedBy },
  };
}

/** The attribute works once a page, at most; fields come later than that. */
function useAutofocus(isWanted: boolean | undefined) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (isWanted) input.current?.focus();
  }, []);
  return input;
}

interface FrameProps {
  id: string;
  fault: string | undefined;
  field: Labelled;
  children: ComponentChildren;
}
const Frame = ({ id, fault, field: { label, hint, isLabelHidden }, children }: FrameProps) => (
  <div class="field">
    <label for={id} class={isLabelHidden ? 'hidden' : 'label'}>
      {label}
    </label>
    {children}
    <Fault id={id}>{fault}</Fault>
    <Hint id={id}>{hint}</Hint>
  </div>
);

/** Further attributes of an input. */
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
/** For names, codes and keys: the browser completes, capitalises and corrects nothing. */
interface Exact {
  isExact?: boolean;
}
const EXACT = { autocomplete: 'off', autocapitalize: 'off', spellcheck: false } as const;

export type TextFieldProps = InputProps &
  Exact &
  Labelled &
  Valued & {
    type?: 'text' | 'email' | 'search' | 'number' | 'date' | 'datetime-local' | 'month' | 'password';
    isMono?: boolean;
  };

/** The members of a field that are no attributes of its input, and those that are. */
function splitProps<Props extends Labelled & Valued>(props: Props) {
  const { label, name, hint, error, isLabelHidden, value, onValue, ...attributes } = props;
  return {
    field: { label, name, hint, error, isLabelHidden },
    attributes,
    valued: {
      value,
      onInput: (event: TargetedInputEvent<HTMLInputElement | HTMLTextAreaElement>) =>
        onValue(event.currentTarget.value),
    },
  };
}

/**
 * Example: `<TextField label="E-mail address" name="email" type="email" value={email} onValue={setEmail} required />`.
 */
export function TextField({ type = 'text', isMono, isExact, ...props }: TextFieldProps) {
  const { field, attributes, valued } = splitProps(props);
  const { id, fault, bound } = useField(field);
  const input = useAutofocus(props.autofocus);
  // The types of preact ask for one type at a time.
  const control: object = { ...(isExact && EXACT), ...attributes, type };
  return (
    <Frame id={id} fault={fault} field={field}>
      <input {...control} {...bound} {...valued} ref={input} class={isMono ? 'input mono' : 'input'} />
    </Frame>
  );
}

export type TextAreaProps = Control<HTMLTextAreaElement> &
  Exact &
  Labelled &
  Valued & { isMono?: boolean; rows?: number };

/** Example: `<TextArea label="Body" name="body" isMono rows={12} value={body} onValue={setBody} />`. */
export function TextArea({ isMono, isExact, ...props }: TextAreaProps) {
  const { field, attributes, valued } = splitProps(props);
  const { id, fault, bound } = useField(field);
  return (
    <Frame id={id} fault={fault} field={field}>
      <textarea
        {...(isExact && EXACT)}
        {...attributes}
        {...bound}
        {...valued}
        class={isMono ? 'input mono' : 'input'}
      />
    </Frame>
  );
}

export type PasswordFieldProps = InputProps & Labelled & Valued & { autocomplete: 'current-password' | 'new-password' };

/**
 * Example: `<PasswordField label="Password" name="password" autocomplete="current-password" value={password}
 * onValue={setPassword} required />`.
 */
export function PasswordField(props: PasswordFieldProps) {
  const { field, attributes, valued } = splitProps(props);
  const { id, fault, bound } = useField(field);
  const [isShown, setShown] = useState(false);
  const input = useAutofocus(props.autofocus);
  const control: object = { ...attributes, type: isShown ? 'text' : 'password' };
  return (
    <Frame id={id} fault={fault} field={field}>
      <div class="input-with-button">
        <input
          {...control}
          {...bound}
          {...valued}
          ref={input}
          class="input"
          maxLength={PASSWORD_MAX}
          spellcheck={false}
          autocapitalize="off"
        />
        <IconButton
          icon={isShown ? 'hide' : 'show'}
          label={`${isShown ? 'Hide' : 'Show'} ${props.label.toLowerCase()}`}
          onClick={() => setShown(!isShown)}
        />
      </div>
    </Frame>
  );
}

interface Option<Value extends string = string> {
  readonly value: Value;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly isDisabled?: boolean;
}
export type SelectProps<Value extends string> = Labelled &
  Valued<Value> & { options: readonly Option<Value>[]; required?: boolean; disabled?: boolean };

/**
 * Example: `<Select label="Role" name="role" value={role} onValue={setRole} options={[{ value: 'viewer', label:
 * 'Viewer' }]} />`.
 */
export function Select<Value extends string>({
  value,
  onValue,
  options,
  required,
  disabled,
  ...field
}: SelectProps<Value>) {
  const { id, fault, bound } = useField(field);
  return (
    <Frame id={id} fault={fault} field={field}>
      <select
        {...bound}
        required={required}
        disabled={disabled}
        class="input"
        value={value}
        onInput={({ currentTarget }) => onValue(options[currentTarget.selectedIndex]!.value)}
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

/**
 * Example: `<Checkbox label="Strict references" name="strict" isChecked={strict} onChecked={setStrict} hint="Unknown
 * part codes are refused." />`.
 */
export function Checkbox({ label, name, isChecked, onChecked, hint, disabled }: CheckboxProps) {
  const id = useId();
  return (
    <div class="choice">
      <input
        id={id}
        type="checkbox"
        name={name}
        checked={isChecked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={(event) => onChecked(event.currentTarget.checked)}
      />
      <div>
        <label for={id}>{label}</label>
        <Hint id={id}>{hint}</Hint>
      </div>
    </div>
  );
}

export type RadioGroupProps<Value extends string> = Labelled &
  Valued<Value> & { options: readonly Option<Value>[]; autofocus?: boolean };

/**
 * Example: `<RadioGroup label="Old keys" name="overlap" value={overlap} onValue={setOverlap} options={[{ value: 'none',
 * label: 'End at once' }]} />`.
 */
export function RadioGroup<Value extends string>({
  value,
  onValue,
  options,
  autofocus,
  ...field
}: RadioGroupProps<Value>) {
  const { id, fault, bound } = useField(field);
  return (
    <fieldset class="field" aria-describedby={bound['aria-describedby']}>
      <legend class={field.isLabelHidden ? 'hidden' : 'label'}>{field.label}</legend>
      <Fault id={id}>{fault}</Fault>
      <Hint id={id}>{field.hint}</Hint>
      {options.map((option) => (
        <div class="choice" key={option.value}>
          <input
            id={`${id}-${option.value}`}
            type="radio"
            name={field.name}
            checked={value === option.value}
            autofocus={autofocus && value === option.value}
            disabled={option.isDisabled}
            aria-describedby={option.hint === undefined ? undefined : `${id}-${option.value}-hint`}
            onInput={() => onValue(option.value)}
          />
          <div>
            <label for={`${id}-${option.value}`}>{option.label}</label>
            <Hint id={`${id}-${option.value}`}>{option.hint}</Hint>
          </div>
        </div>
      ))}
    </fieldset>
  );
}
