/**
 * One order: its stage, lines, stock and addresses, the state of its storefront order, and its transitions. Begin here.
 */
import { useState } from 'preact/hooks';
import { saysCancelled } from '../../../../src/pims/rules/stages.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import { useLoad } from '../../api/use-load.ts';
import { labelOf } from '../../records/label.ts';
import { loadRecord, recordPath, singleCall, type LoadedRecord } from '../../records/records.ts';
import { Link, useParams } from '../../browser/router.tsx';
import { ApiCall } from '../../records/api-call.tsx';
import { Day, formatMoney, KeyValue, StageBadge, Text, Time } from '../../ui/text/text.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { Notice, Page, WhenLoaded } from '../../ui/page.tsx';
import { ADDRESS_FIELDS, Addresses, NoRecord, OtherFields } from '../../records/record-fields.tsx';
import { announce } from '../../ui/toaster.tsx';
import { RecordLink } from '../../records/field-column.tsx';
import { History } from './history.tsx';
import { OrderActions } from './order-actions.tsx';
import { TransitionButtons, useObstacle, type DoneTransition } from './transitions.tsx';
import { OrderLines } from './line-table.tsx';
import { Returns } from './returns.tsx';
import { SUM, TOTALS, totalOf } from '../../records/lines/totals.tsx';
import { stockedParts, OrderStock } from '../../records/lines/stock-table.tsx';
import { StorefrontComparison } from './storefront-comparison.tsx';

/** The fields that are shown elsewhere than in Other fields. */
const SHOWN =
  `ORDER_NUMBER ORDER_TYPE BACKORDER_OF RETURN_OF REFERENCE_NUMBER CUSTOMER_CODE ORDER_DATE ORDER_STATUS TRACKING_NUMBERS CREATE_DATE
  MODIFIED_DATE`
    .split(/\s+/)
    .concat(ADDRESS_FIELDS, TOTALS);

export default function OrderPage() {
  const { key: number = '' } = useParams();
  const order = useLoad(number, (signal) => loadRecord('orders', number, signal));
  const { data } = order;
  /** The last transition. It is shown until something else changes the order. */
  const [step, setStep] = useState<DoneTransition>();
  if (order.error?.code === 'NOT_FOUND') return <NoRecord kind="orders" code={number} />;
  const onTransition = (done: DoneTransition) => {
    setStep(done);
    announce(done.made.ORDER_TYPE === 'invoice' ? 'Invoiced' : 'Approved');
    order.reload();
  };
  const stage = data?.values.ORDER_TYPE;
  return (
    <Page
      title={`${data?.values.RETURN_OF ? 'Return' : 'Order'} ${number}`}
      badge={stage && <StageBadge stage={stage} isCancelled={saysCancelled(data.values)} />}
      actions={
        data && (
          <>
            <OrderActions record={data} onDone={order.reload} />
            <TransitionButtons record={data} onDone={onTransition} />
          </>
        )
      }
    >
      <WhenLoaded from={order}>
        {(record) => <Order record={record} step={step?.tag === record.tag ? step : undefined} onDone={order.reload} />}
      </WhenLoaded>
    </Page>
  );
}

interface OrderProps {
  record: LoadedRecord;
  step: DoneTransition | undefined;
  onDone: () => void;
}

function Order({ record, step, onDone }: OrderProps) {
  const { values, lines, tag } = record;
  const obstacle = useObstacle(record);
  const number = values.ORDER_NUMBER ?? '';
  const reference = values.REFERENCE_NUMBER ?? '';
  return (
    <>
      {step && <Outcome step={step} />}
      {obstacle && <p class="hint">{obstacle}</p>}
      <Facts record={record} />
      <OrderLines record={record} onDone={onDone} />
      {values.ORDER_TYPE === 'invoice' && <Returns number={number} />}
      {reference !== '' && <StorefrontComparison reference={reference} number={number} version={tag} />}
      <OrderStock
        parts={step?.parts ?? stockedParts(lines)}
        isDropShip={values.DROP_SHIP === 'Y'}
        before={step?.stockBefore}
        version={tag}
      />
      <Addresses values={values} />
      <OtherFields values={values} shown={SHOWN} />
      <History number={number} version={tag} />
      <ApiCall call={singleCall('orders', number)} />
    </>
  );
}

function Outcome({ step: { made } }: { step: DoneTransition }) {
  const link = (number: string) => <Link to={recordPath('orders', number)}>{number}</Link>;
  if (made.ORDER_TYPE !== 'invoice')
    return <Notice tone="good" title={`Order ${made.ORDER_NUMBER} is a sales order now.`} />;
  return (
    <Notice tone="good" title="Invoiced">
      Invoice {link(made.ORDER_NUMBER)}.{' '}
      {made.BACKORDER_NUMBER === '' ? (
        'The order is complete.'
      ) : (
        <>The other units moved to the backorder {link(made.BACKORDER_NUMBER)}.</>
      )}{' '}
      See the stock below.
    </Notice>
  );
}

function Facts({ record: { values, lines } }: { record: LoadedRecord }) {
  const total = totalOf(values, lines);
  const text = (name: string) => values[name] && <Text value={values[name]} charactersMax={80} />;
  const origins = ['RETURN_OF', 'BACKORDER_OF'].filter((name) => values[name]);
  const customer = values.CUSTOMER_CODE;
  const tracking = splitList(values.TRACKING_NUMBERS ?? '');
  return (
    <KeyValue
      look="facts"
      rows={[
        ['Storefront number', text('REFERENCE_NUMBER')],
        ...origins.map((name) => [labelOf(name), <RecordLink kind="orders" code={values[name]!} />] as const),
        ['Customer', customer && <RecordLink kind="customers" code={customer} />],
        ['Customer name', text('BNAME')],
        ['Order date', values.ORDER_DATE && <Day value={values.ORDER_DATE} />],
        ['Status', text('ORDER_STATUS')],
        [values.ORDER_TOTAL || total === '' ? 'Total' : SUM, total && <strong>{formatMoney(total)}</strong>],
        ['Created', <Time at={values.CREATE_DATE ?? ''} />],
        ['Changed', <Time at={values.MODIFIED_DATE ?? ''} />],
        [
          'Tracking numbers',
          tracking[0] && tracking.map((one) => <CopyText key={one} text={one} label={`Copy tracking number ${one}`} />),
        ],
      ]}
    />
  );
}
