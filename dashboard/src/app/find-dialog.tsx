/** The dialog that finds everything, on every page. The keys /, Ctrl K and ⌘K open it; arrows and Enter choose. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useLoad } from '../api/use-load.ts';
import { navigate } from '../browser/router.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { findAll, type Found } from './find.ts';

const WAIT_MS = 150;

/** The button of the menu and the keys that open the dialog. */
export function Find() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      const isTyping = (event.target as Element).closest('input, textarea, select, dialog') !== null;
      const isShortcut = event.key === 'k' && (event.ctrlKey || event.metaKey);
      if (!isShortcut && (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey)) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', open);
    return () => removeEventListener('keydown', open);
  }, []);
  return (
    <>
      <Button class="find-all" icon="search" onClick={() => setOpen(true)}>
        Find <kbd>/</kbd>
      </Button>
      {isOpen && <FindDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function FindDialog({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const list = useId();
  useEffect(() => {
    const wait = setTimeout(() => setText(typed.trim()), WAIT_MS);
    return () => clearTimeout(wait);
  }, [typed]);
  const found = useLoad(text, (signal) => (text === '' ? Promise.resolve([]) : findAll(text, signal)));
  const rows = found.data ?? [];
  // If Enter is pressed before the result has arrived, the first item opens then.
  const isWanted = useRef(false);
  useEffect(() => {
    if (isWanted.current && rows[0]) go(rows[0]);
  }, [found.data]);
  const go = (row: Found) => {
    onClose();
    navigate(row.to);
  };
  const press = (event: KeyboardEvent) => {
    // By default, Escape would only clear the search field.
    if (event.key === 'Escape') return onClose();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = rows[at];
    if (step === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (step !== undefined) setAt((before) => Math.max(0, Math.min(rows.length - 1, before + step)));
    else if (row && typed.trim() === text) go(row);
    else isWanted.current = true;
  };
  // The types of preact know this role only together with a <datalist>.
  const combobox: object = {
    type: 'search',
    role: 'combobox',
    'aria-expanded': rows.length > 0,
    'aria-controls': list,
    'aria-activedescendant': rows[at] && `${list}-${at}`,
  };
  return (
    <Dialog title="Find" width="wide" onClose={onClose}>
      <input
        class="input"
        {...combobox}
        aria-label="Number, customer, email, tracking, serial, part, request or key"
        placeholder="Number, customer, email, tracking, serial, part, request or key"
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={typed}
        onInput={({ currentTarget }) => {
          isWanted.current = false;
          setTyped(currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div id={list} role="listbox" aria-label="Results" class="found">
        {rows.map((row, index) => (
          <div
            key={`${row.group} ${row.to} ${row.text}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => go(row)}
          >
            <span class="muted small">{row.group}</span> <bdi>{row.text}</bdi> <bdi class="muted">{row.note}</bdi>
          </div>
        ))}
      </div>
      <p class="hint" role="status">
        {text !== '' && found.data && rows.length === 0 && `Nothing found for “${text}”.`}
      </p>
    </Dialog>
  );
}
