/** Pieces of code that can be copied, each on a tab. */
import type { CallCode } from '../../api/call-code.ts';
import { Tabs } from '../tabs.tsx';
import { CodeBlock } from './copy.tsx';

/** Example: `<CodeTabs label="The call as code" codes={formatCode(url, call)} />`. */
export const CodeTabs = ({ label, codes }: { label: string; codes: readonly CallCode[] }) => (
  <Tabs
    label={label}
    tabs={codes.map((one) => ({
      id: one.id,
      label: one.label,
      content: () => <CodeBlock key={one.id} label={one.label} code={one.code} />,
    }))}
  />
);
