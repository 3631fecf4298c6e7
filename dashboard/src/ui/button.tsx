/**
 * Buttons, and links that look like buttons. A submit button is busy while its form is busy; a busy button keeps its
 * place, label and focus.
 */
import type { ComponentChildren, TargetedMouseEvent } from 'preact';
import { Link } from '../browser/router.tsx';
import { useFormState } from './form-state.ts';
import { Icon, type IconName } from './icon.tsx';

export type ButtonTone = 'primary' | 'secondary' | 'danger' | 'quiet';
export interface ButtonProps {
  tone?: ButtonTone;
  size?: 'small';
  icon?: IconName;
  isBusy?: boolean;
  type?: 'button' | 'submit' | 'reset';
  disabled?: boolean;
  class?: string;
  title?: string;
  'aria-label'?: string;
  'aria-pressed'?: boolean;
  'aria-expanded'?: boolean;
  'aria-controls'?: string;
  onClick?: ((event: TargetedMouseEvent<HTMLButtonElement>) => void) | undefined;
  children?: ComponentChildren;
}

/**
 * Example: `<Button tone="danger" isBusy={isRemoving} onClick={remove}>Remove</Button>`; in a `<Form>`: `<Button
 * type="submit" tone="primary">Save</Button>`.
 */
export function Button({
  tone = 'secondary',
  size,
  icon,
  isBusy,
  type = 'button',
  onClick,
  class: extra = '',
  children,
  ...rest
}: ButtonProps) {
  const form = useFormState();
  const busy = isBusy ?? (type === 'submit' && form?.isBusy === true);
  const act = (event: TargetedMouseEvent<HTMLButtonElement>) => (busy ? event.preventDefault() : onClick?.(event));
  return (
    <button
      {...rest}
      type={type}
      class={`button ${tone} ${size ?? ''} ${extra}`}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={act}
    >
      {busy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children && <span>{children}</span>}
    </button>
  );
}

/**
 * A button with only an icon. Screen readers read its label, which is also its tooltip. Example: `<IconButton
 * icon="close" label="Close" onClick={close} />`.
 */
export function IconButton({
  icon,
  label,
  ...rest
}: Omit<ButtonProps, 'children'> & { icon: IconName; label: string }) {
  return (
    <Button
      tone="quiet"
      {...rest}
      icon={icon}
      aria-label={label}
      title={label}
      class={`only-icon ${rest.class ?? ''}`}
    />
  );
}

/** Example: `<ButtonLink to="/api-settings" tone="primary">API Settings</ButtonLink>`. */
export function ButtonLink({
  to,
  tone = 'secondary',
  icon,
  children,
}: Pick<ButtonProps, 'tone' | 'icon' | 'children'> & { to: string }) {
  return (
    <Link to={to} class={`button ${tone}`}>
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </Link>
  );
}

/**
 * The buttons at the end of a form, a section or a dialog. Example: `<Actions><Button
 * icon="copy">Copy</Button></Actions>`.
 */
export const Actions = ({ children }: { children: ComponentChildren }) => <div class="actions">{children}</div>;

interface SubmitActionsProps {
  onCancel?: () => void;
  tone?: ButtonTone | undefined;
  children: ComponentChildren;
}
/**
 * The buttons of a form: one that sends it and, in a dialog, one that cancels. Example: `<SubmitActions
 * onCancel={onClose}>Save</SubmitActions>`.
 */
export const SubmitActions = ({ onCancel, tone = 'primary', children }: SubmitActionsProps) => (
  <Actions>
    {onCancel && <Button onClick={onCancel}>Cancel</Button>}
    <Button type="submit" tone={tone}>
      {children}
    </Button>
  </Actions>
);

/** Loads the data of the page again. Example: `<Refresh isBusy={isLoading} onClick={reload} />`. */
export const Refresh = (button: Pick<ButtonProps, 'isBusy' | 'onClick'>) => (
  <Button {...button} icon="reload">
    Refresh
  </Button>
);
