/** Small marks: a word in a tone. HTTP statuses, stages of orders and methods have separate badges. */
import type { ComponentChildren } from 'preact';
import type { Stage } from '../../../src/pims/rules/stages.ts';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'info';

/** Example: `<Badge tone="good">In force</Badge>`. */
export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);

/** Example: `<StatusBadge status={404} />`. */
export function StatusBadge({ status }: { status: number }) {
  const tone: Tone = status >= 500 ? 'bad' : status >= 400 ? 'warn' : status >= 300 ? 'neutral' : 'good';
  return <span class={`badge mono ${tone}`}>{status}</span>;
}

const STAGES: Readonly<Record<Stage, readonly [label: string, tone: Tone]>> = {
  worksheet: ['Worksheet', 'neutral'],
  quote: ['Quote', 'warn'],
  sales_order: ['Sales order', 'info'],
  invoice: ['Invoice', 'good'],
};

const isStage = (text: string): text is Stage => Object.hasOwn(STAGES, text);
/** Example: `labelStage('sales_order')` gives `Sales order`. */
export const labelStage = (stage: Stage): string => STAGES[stage][0];

/** Example: `<StageBadge stage={order.ORDER_TYPE} />`. */
export function StageBadge({ stage, isCancelled = false }: { stage: string; isCancelled?: boolean }) {
  const [label, tone] = isStage(stage) ? STAGES[stage] : [stage || 'None', 'neutral' as const];
  return isCancelled ? (
    <Badge tone="bad">
      {label}, {stage === 'invoice' ? 'void' : 'cancelled'}
    </Badge>
  ) : (
    <Badge tone={tone}>{label}</Badge>
  );
}

const METHOD_TONES: Readonly<Record<string, Tone>> = { POST: 'good', PUT: 'warn' };
/** The method of a request. Example: `<Method method="PUT" />`. */
export const Method = ({ method }: { method: string }) => (
  <span class={`method mono ${METHOD_TONES[method] ?? 'info'}`}>{method}</span>
);
