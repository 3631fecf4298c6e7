/**
 * Short messages in a corner, which are also read out.
 */
import { useEffect, useState } from 'preact/hooks';
import { toApiError } from '../api/use-load.ts';
import { Icon } from './icon.tsx';

type ToastTone = 'good' | 'bad';
interface Toast {
  readonly number: number;
  readonly text: string;
  readonly tone: ToastTone;
}
const SHOWN_MS = 5000;

let number = 0;
let show: (toast: Toast) => void = () => {};
let say: (text: string) => void = () => {};

/** Example: `toast('Settings saved')`. */
export function toast(text: string, tone: ToastTone = 'good'): void {
  show({ number: ++number, text, tone });
}

/** Shows why something failed. Example: `await post('/operate/backup', {}).catch(toastError)`. */
export const toastError = (fault: unknown): void => toast(toApiError(fault).message, 'bad');

/** Reads a text out without showing it: `announce('Copied')`. */
export function announce(text: string): void {
  say(text);
}

/** Shows the messages. The app renders it once. */
export function Toaster() {
  const [toasts, setToasts] = useState<Toast[]>([]);
  const [said, setSaid] = useState('');
  useEffect(() => {
    show = (added) => {
      setToasts((before) => [...before.slice(-2), added]);
      window.setTimeout(() => setToasts((before) => before.filter((one) => one !== added)), SHOWN_MS);
    };
    say = (text) => {
      setSaid('');
      window.setTimeout(() => setSaid(text), 50); // The same text is announced again only after an empty one.
    };
  }, []);
  return (
    <>
      <div class="toasts" role="status" aria-live="polite">
        {toasts.map((one) => (
          <p key={one.number} class={`toast ${one.tone}`}>
            <Icon name={one.tone === 'good' ? 'check' : 'warning'} />
            {one.text}
          </p>
        ))}
      </div>
      <div class="hidden" role="status" aria-live="polite">
        {said}
      </div>
    </>
  );
}
