/** Copies a text, and shows code that can be copied. It announces the copy and confirms it for a moment. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { CallCode } from '../../api/call-code.ts';
import { Button, IconButton } from '../button.tsx';
import { Tabs } from '../tabs.tsx';
import { announce, toast } from '../toaster.tsx';

const SHOWN_MS = 1600;

/** Returns the properties of a button that copies a text. */
function useCopy(text: string) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = window.setTimeout(() => setCopied(false), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce('Copied');
    } catch {
      toast('The browser did not allow copying. Select the text and copy it yourself.', 'bad');
    }
  };
  return {
    icon: isCopied ? 'check' : 'copy',
    class: isCopied ? 'copied good' : '',
    onClick: () => void copy(),
  } as const;
}

/** Example: `<Copy text={apiID} label="Copy API ID" />`. */
export const Copy = ({ text, label = 'Copy' }: { text: string; label?: string | undefined }) => (
  <IconButton size="small" label={label} {...useCopy(text)} />
);

/** A copy button with a text. Example: `<CopyButton text={curl} label="Copy as curl" />`. */
export const CopyButton = ({ text, label }: { text: string; label: string }) => (
  <Button {...useCopy(text)}>{label}</Button>
);

/**
 * A short value in one line with its copy button. Example: `<CopyText text={session.tenant.teamID} label="Copy team ID"
 * />`.
 */
export const CopyText = ({ text, label }: { text: string; label?: string }) => (
  <span class="copy-text">
    <code>{text}</code>
    <Copy text={text} label={label} />
  </span>
);

interface CodeBlockProps {
  code: string;
  /** The name of the region, such as `Response body`. */
  label: string;
  /** Content above the code, such as a status. */
  head?: ComponentChildren;
  /** The text to copy, if it differs from the code. */
  copied?: string;
}

/** Example: `<CodeBlock label="curl" code={curl} />`. */
export const CodeBlock = ({ code, label, head, copied }: CodeBlockProps) => (
  <div class="code-block">
    <div class="code-head">
      {head ?? <span>{label}</span>}
      <Copy text={copied ?? code} label={`Copy ${label.toLowerCase()}`} />
    </div>
    {/** The region scrolls, so the keyboard must reach it. */}
    <pre role="region" aria-label={label} tabIndex={0}>
      <code>{code}</code>
    </pre>
  </div>
);

/**
 * Pieces of code that can be copied, each on a tab. Example: `<CodeTabs label="The call as code"
 * codes={formatCode(url, call)} />`.
 */
export const CodeTabs = ({ label, codes }: { label: string; codes: readonly CallCode[] }) => (
  <Tabs
    label={label}
    tabs={codes.map(([name, code]) => ({
      id: name,
      label: name,
      content: () => <CodeBlock key={name} label={name} code={code} />,
    }))}
  />
);

/** Says where the keys of a code come from. Example: `<KeysHint what="code" />`. */
export const KeysHint = ({ what, children }: { what: 'code' | 'command'; children?: ComponentChildren }) => (
  <p class="hint">
    The {what} reads your keys from the environment: <code>API_ID</code> and <code>API_SECRET</code>.{children}
  </p>
);
