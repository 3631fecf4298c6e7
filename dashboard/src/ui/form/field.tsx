/**
 * Fields of a form: each with its label, a hint, and its error (its own `error`, or the form's error that names it).
 * The page holds the value: a field shows `value` and calls `onValue`.
 */
import type { ComponentChildren, TargetedInputEvent } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { PASSWORD_MAX } from '../../../../src/account/account-bounds.ts';
import { useFormState } from '../form-state.ts';
import { faultOfNumber } from './number.ts';
import { IconButton } from '../button.tsx';

interface Labelled {
  label: string;
  /** The name of the member in the request, by which an error finds the field. */
  name: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  /** Whether the label is only for screen readers, as for filters above a table. */
  isLabelHidden?: boolean | undefined;
}
interface Valued<Value extends string = string> {
  value: Value;
  onValue: (value: Value) => void;
}

/** Keeps the typed or chosen value of a field: `const email = useEntry('')`, `<TextField … {...email} />`. */
export function useEntry<Value>(first: Value) {
  const [value, onValue] = useState(first);
  return { value, onValue };
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

/** Returns the id of a field, its error, and the attributes that bind its input to label, hint and error. */
function useField({ name, hint, error }: Labelled) {
  const id = useId();
  const form = useFormState();
  const fault = error ?? (form?.error?.field === name ? form.error.message : undefined);
  const describedBy = [fault !== undefined && `${id}-error`, hint !== undefined && `${id}-hint`];
  return {
    id,
    fault,
    bound: {
      id,
      name,
      'aria-invalid': fault !== undefined || undefined,
      'aria-describedby': describedBy.filter(Boolean).join(' ') || undefined,
    },
  };
}

interface FrameProps {
  field: Labelled;
  children: (bound: ReturnType<typeof useField>['bound']) => ComponentChildren;
}
function Frame({ field, children }: FrameProps) {
  const { id, fault, bound } = useField(field);
  return (
    <div class="field">
      <label for={id} class={field.isLabelHidden ? 'hidden' : 'label'}>
        {field.label}
      </label>
      {children(bound)}
      <Fault id={id}>{fault}</Fault>
      <Hint id={id}>{field.hint}</Hint>
    </div>
  );
}

interface EntryProps extends Labelled, Valued {
  isMono?: boolean;
  /** Whether the browser completes, capitalises and corrects nothing, as for names, codes and keys. */
  isExact?: boolean;
  required?: boolean;
}
export interface TextFieldProps extends EntryProps {
  type?: 'text' | 'email' | 'search' | 'number' | 'date' | 'datetime-local' | 'password';
  placeholder?: string;
  readOnly?: boolean;
  disabled?: boolean;
  autofocus?: boolean;
  autocomplete?: string;
  autocapitalize?: 'characters';
  maxLength?: number;
  inputmode?: 'numeric' | 'decimal';
  pattern?: string;
  title?: string;
  min?: number;
  max?: number;
  step?: number;
  /** id of a <datalist>. */
  list?: string;
  onKeyDown?: (event: KeyboardEvent) => void;
}

/** Splits the properties of a field from the attributes of its input. */
function splitProps<Props extends EntryProps>(props: Props) {
  const { label, name, hint, error, isLabelHidden, value, onValue, isMono, isExact, ...given } = props;
  const exact = isExact && ({ autocomplete: 'off', autocapitalize: 'off', spellcheck: false } as const);
  const attributes = {
    ...exact,
    ...given,
    value,
    onInput: ({ currentTarget }: TargetedInputEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      onValue(currentTarget.value),
    class: isMono ? 'input mono' : 'input',
  };
  return { field: { label, name, hint, error, isLabelHidden }, attributes };
}

/**
 * Example: `<TextField label="Email address" name="email" type="email" value={email} onValue={setEmail} required
 * />`. A password has a button that shows it.
 */
export function TextField({ type = 'text', ...props }: TextFieldProps) {
  const { field, attributes } = splitProps(props);
  const [isShown, setShown] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    // The attribute works at most once a page, but fields can appear later.
    if (props.autofocus) input.current?.focus();
  }, []);
  const isPassword = type === 'password';
  const asPassword = isPassword && { maxLength: PASSWORD_MAX, spellcheck: false, autocapitalize: 'off' };
  // The types of preact allow no type that changes.
  const control: object = { ...attributes, ...asPassword, type: isShown ? 'text' : type };
  return (
    <Frame field={field}>
      {(bound) => {
        const shown = <input {...control} {...bound} ref={input} />;
        if (!isPassword) return shown;
        return (
          <div class="input-with-button">
            {shown}
            <IconButton
              icon={isShown ? 'hide' : 'show'}
              label={`${isShown ? 'Hide' : 'Show'} ${props.label.toLowerCase()}`}
              onClick={() => setShown(!isShown)}
            />
          </div>
        );
      }}
    </Frame>
  );
}

/**
 * A field for a number as people write it in the viewer's locale. `readNumber` reads its text. Example: `<NumberField
 * label="Price" name="UNIT_PRICE" {...price} />`.
 */
export const NumberField = ({ error, ...field }: TextFieldProps) => (
  <TextField {...field} inputmode="decimal" isExact error={error ?? faultOfNumber(field.value)} />
);

/** Example: `<TextArea label="Body" name="body" isMono rows={12} value={body} onValue={setBody} />`. */
export function TextArea(props: EntryProps & { rows: number }) {
  const { field, attributes } = splitProps(props);
  return <Frame field={field}>{(bound) => <textarea {...attributes} {...bound} />}</Frame>;
}

export type Option<Value extends string = string> = readonly [value: Value, label: string, hint?: ComponentChildren];
interface ChoiceProps<Value extends string> extends Labelled, Valued<Value> {
  options: readonly Option<Value>[];
}

/**
 * Example: `<Select label="Role" name="role" value={role} onValue={setRole} options={[['viewer', 'Viewer']]} />`.
 */
export const Select = <Value extends string>({ value, onValue, options, ...field }: ChoiceProps<Value>) => (
  <Frame field={field}>
    {(bound) => (
      <select
        {...bound}
        class="input"
        value={value}
        onInput={({ currentTarget }) => onValue(options[currentTarget.selectedIndex]![0])}
      >
        {options.map(([option, label]) => (
          <option key={option} value={option}>
            {label}
          </option>
        ))}
      </select>
    )}
  </Frame>
);

interface BoxProps {
  type: 'checkbox' | 'radio';
  name: string;
  label: ComponentChildren;
  hint?: ComponentChildren;
  checked: boolean;
  disabled?: boolean;
  autofocus?: boolean | undefined;
  onChecked: (isChecked: boolean) => void;
}
function Box({ label, hint, onChecked, ...input }: BoxProps) {
  const id = useId();
  return (
    <div class="choice">
      <input
        {...input}
        id={id}
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

interface CheckboxProps extends Omit<BoxProps, 'type' | 'checked'> {
  isChecked: boolean;
}

/**
 * Example: `<Checkbox label="Strict references" name="strict" isChecked={strict} onChecked={setStrict} hint="Unknown
 * part codes are rejected." />`.
 */
export const Checkbox = ({ isChecked, ...box }: CheckboxProps) => <Box {...box} type="checkbox" checked={isChecked} />;

/**
 * Example: `<RadioGroup label="Role" name="role" value={role} onValue={setRole} options={[['viewer', 'Viewer']]} />`.
 */
export function RadioGroup<Value extends string>({
  value,
  onValue,
  options,
  autofocus,
  ...field
}: ChoiceProps<Value> & { autofocus?: boolean }) {
  const { id, fault, bound } = useField(field);
  return (
    <fieldset class="field" aria-describedby={bound['aria-describedby']}>
      <legend class="label">{field.label}</legend>
      <Fault id={id}>{fault}</Fault>
      <Hint id={id}>{field.hint}</Hint>
      {options.map(([option, label, hint]) => (
        <Box
          key={option}
          type="radio"
          name={field.name}
          label={label}
          hint={hint}
          checked={value === option}
          autofocus={autofocus && value === option}
          onChecked={() => onValue(option)}
        />
      ))}
    </fieldset>
  );
}
