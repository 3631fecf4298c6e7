/**
 * One order: its stage, lines, stock and addresses, the state of its storefront order, and its transitions.
 */
import { useState } from 'preact/hooks';
import { saysCancelled, STAGES } from '../../../../src/pims/rules/stages.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import { useLoad } from '../../api/use-load.ts';
import { loadRecord, recordPath, singleCall, type LoadedRecord } from '../../api/records.ts';
import { Link, useParams } from '../../router.tsx';
import { ApiCall } from '../records/api-call.tsx';
import { labelStage, StageBadge } from '../../ui/badge.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { Icon } from '../../ui/icon.tsx';
import { LoadError, Notice, Skeleton } from '../../ui/notice.tsx';
import { Page } from '../../ui/page.tsx';
import { Addresses, ADDRESS_FIELDS, OtherFields } from '../records/record-fields.tsx';
import { shorten, Text } from '../../ui/text/text.tsx';
import { Time } from '../../ui/text/time.tsx';
import { announce } from '../../ui/toaster.tsx';
import { NoRecord } from '../records/no-record.tsx';
import { TransitionButtons, useObstacle, type DoneTransition } from './transitions.tsx';
import { OrderLines } from './line-table.tsx';
import { stockedParts, OrderStock } from './stock-table.tsx';
import { StorefrontComparison } from './storefront-comparison.tsx';

/** What the page shows otherwise than as one of the other fields. */
const SHOWN =
  `ORDER_NUMBER ORDER_TYPE REFERENCE_NUMBER CUSTOMER_CODE ORDER_DATE ORDER_STATUS ORDER_TOTAL TRACKING_NUMBERS
  CREATE_DATE MODIFIED_DATE`
    .split(/\s+/)
    .concat(ADDRESS_FIELDS);

export function OrderPage() {
  const { key: number = '' } = useParams();
  const { data, error, reload } = useLoad(number, (signal) => loadRecord('orders', number, signal));
  const [steps, setSteps] = useState<readonly DoneTransition[]>([]);
  if (error?.code === 'NOT_FOUND') return <NoRecord kind="orders" code={number} />;
  const onDone = (step: DoneTransition) => {
    setSteps((before) => [...before, step]);
    announce(step.made.ORDER_TYPE === 'invoice' ? 'Invoiced' : 'Approved');
    reload();
  };
  const stage = data?.values['ORDER_TYPE'];
  return (
    <Page
      title={`Order ${number}`}
      badge={stage !== undefined && <StageBadge stage={stage} isCancelled={saysCancelled(data!.values)} />}
      actions={data !== undefined && <TransitionButtons record={data} onDone={onDone} />}
    >
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Skeleton lines={6} />}
      {data !== undefined && <Order record={data} steps={steps} />}
    </Page>
  );
}

function Order({ record, steps }: { record: LoadedRecord; steps: readonly DoneTransition[] }) {
  const { values, lines } = record;
  const step = steps.at(-1);
  const number = values['ORDER_NUMBER'] ?? '';
  const reference = values['REFERENCE_NUMBER'] ?? '';
  return (
    <>
      {step !== undefined && <Outcome step={step} />}
      <Stepper stage={values['ORDER_TYPE'] ?? ''} />
      <Obstacle record={record} />
      <Facts values={values} />
      <OrderLines lines={lines} />
      {reference !== '' && <StorefrontComparison reference={reference} number={number} round={steps.length} />}
      <OrderStock
        parts={step?.parts ?? stockedParts(lines)}
        isDropShip={values['DROP_SHIP'] === 'Y'}
        before={step?.stockBefore}
        round={steps.length}
      />
      <Addresses values={values} />
      <OtherFields values={values} shown={SHOWN} />
      <ApiCall call={singleCall('orders', number)} />
    </>
  );
}

function Outcome({ step: { made } }: { step: DoneTransition }) {
  const link = (number: string) => <Link to={recordPath('orders', number)}>{number}</Link>;
  if (made.ORDER_TYPE !== 'invoice')
    return (
      <Notice tone="good" title={`Order ${made.ORDER_NUMBER} is a sales order now, and its stock is committed.`} />
    );
  return (
    <Notice tone="good" title="Invoiced">
      Invoice {link(made.ORDER_NUMBER)}.{' '}
      {made.backorder === null ? (
        'Nothing is left of the order.'
      ) : (
        <>What is left became the sales order {link(made.backorder)}.</>
      )}{' '}
      The stock is below.
    </Notice>
  );
}

function Obstacle({ record }: { record: LoadedRecord }) {
  const obstacle = useObstacle(record);
  return obstacle === undefined ? null : <p class="hint">{obstacle}</p>;
}

function Stepper({ stage }: { stage: string }) {
  const at = STAGES.findIndex((name) => name === stage);
  return (
    <ol class="stages" aria-label="Stages">
      {STAGES.map((name, index) => (
        <li
          key={name}
          class={index < at ? 'past' : index === at ? 'here' : undefined}
          aria-current={index === at ? 'step' : undefined}
        >
          <span class="stage-mark" aria-hidden="true">
            {index < at ? <Icon name="check" /> : index + 1}
          </span>
          {labelStage(name)}
        </li>
      ))}
    </ol>
  );
}

function Facts({ values }: { values: Values }) {
  const customer = values['CUSTOMER_CODE'] ?? '';
  const tracking = splitList(values['TRACKING_NUMBERS'] ?? '');
  const facts = [
    ['Reference', <Text value={values['REFERENCE_NUMBER'] ?? ''} charactersMax={80} />, values['REFERENCE_NUMBER']],
    [
      'Customer',
      <Link to={recordPath('customers', customer)}>
        <bdi>{shorten(customer, 120)}</bdi>
      </Link>,
      customer,
    ],
    ['Order date', values['ORDER_DATE'], values['ORDER_DATE']],
    ['Status', <Text value={values['ORDER_STATUS'] ?? ''} charactersMax={80} />, values['ORDER_STATUS']],
    ['Total', <strong>{values['ORDER_TOTAL']}</strong>, values['ORDER_TOTAL']],
    ['Created', <Time at={values['CREATE_DATE'] ?? ''} />, values['CREATE_DATE']],
    ['Changed', <Time at={values['MODIFIED_DATE'] ?? ''} />, values['MODIFIED_DATE']],
    [
      'Tracking numbers',
      tracking.map((one) => <CopyText key={one} text={one} label={`Copy tracking number ${one}`} />),
      tracking.join(),
    ],
  ] as const;
  return (
    <dl class="facts">
      {facts.map(([name, shown, value]) => (
        <div key={name} class={name === 'Tracking numbers' && value ? 'whole' : undefined}>
          <dt>{name}</dt>
          <dd>{value ? shown : <span class="muted">–</span>}</dd>
        </div>
      ))}
    </dl>
  );
}
