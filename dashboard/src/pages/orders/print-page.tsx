/** A packing slip and an invoice of an order, or a return slip and a credit note, on A4 or Letter, without the menu. */
import { saysCancelled, type Stage } from '../../../../src/pims/rules/stages.ts';
import { amountOf } from '../../../../src/pims/rules/totals.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { where } from '../../records/filters.ts';
import { loadRecord, queryRecords, recordPath, type LoadedRecord } from '../../records/records.ts';
import { useLoad } from '../../api/use-load.ts';
import { useParams, useQuery } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Select } from '../../ui/form/field.tsx';
import { Page, WhenLoaded } from '../../ui/page.tsx';
import { formatDate, formatMoney, KeyValue, labelStage } from '../../ui/text/text.tsx';
import { labelOf } from '../../records/label.ts';
import { ADDRESS_FIELDS, Addresses, NoRecord } from '../../records/record-fields.tsx';
import { OrderTotals } from '../../records/lines/totals.tsx';

export default function PrintPage() {
  const { key: number = '' } = useParams();
  const [query, setQuery] = useQuery();
  const { tenant } = useSession();
  const order = useLoad(number, (signal) => loadAddressed(number, signal));
  const stage = order.data?.values.ORDER_TYPE as Stage | undefined;
  const isReturn = Boolean(order.data?.values.RETURN_OF);
  const title = stage === undefined || stage === 'sales_order' ? 'Order confirmation' : labelStage(stage);
  const sheets = [
    ['slip', isReturn ? 'Return slip' : 'Packing slip'],
    ['invoice', isReturn ? 'Credit note' : title],
  ] as const;
  const [sheet, label] = sheets[query.get('sheet') === 'invoice' ? 1 : 0];
  if (order.error?.code === 'NOT_FOUND') return <NoRecord kind="orders" code={number} />;
  return (
    <Page
      title={`${label} ${number}`}
      description={tenant.name}
      actions={
        <>
          <Select
            label="Sheet"
            isLabelHidden
            name="sheet"
            value={sheet}
            onValue={(value) => setQuery({ sheet: value }, { replace: true })}
            options={sheets}
          />
          <ButtonLink to={recordPath('orders', number)}>Back to the order</ButtonLink>
          <Button tone="primary" onClick={() => print()}>
            Print
          </Button>
        </>
      }
    >
      <WhenLoaded from={order}>{(record) => <Sheet record={record} hasPrices={sheet === 'invoice'} />}</WhenLoaded>
    </Page>
  );
}

/** Loads an order, with the billing or shipping address of its customer if it has none. */
async function loadAddressed(number: string, signal: AbortSignal): Promise<LoadedRecord> {
  const order = await loadRecord('orders', number, signal);
  const { values } = order;
  const sides = ['B', 'S'].map((side) => ADDRESS_FIELDS.filter((name) => name.startsWith(side)));
  const missing = sides.filter((side) => side.every((name) => !values[name])).flat();
  if (!values.CUSTOMER_CODE || missing.length === 0) return order;
  const filters = [where('CUSTOMER_CODE', 'eq', values.CUSTOMER_CODE)];
  const [customer] = (await queryRecords('customers', filters, { maxReturn: 1 }, signal)).rows;
  const address = missing.map((name) => [name, customer?.[name] ?? '']);
  return { ...order, values: { ...values, ...Object.fromEntries(address) } };
}

const FACTS = [
  'RETURN_OF',
  'REFERENCE_NUMBER',
  'PO_NUMBER',
  'CUSTOMER_CODE',
  'ORDER_DATE',
  'SHIP_VIA',
  'TRACKING_NUMBERS',
  'TERMS_CODE',
];

function Sheet({ record: { values, lines }, hasPrices }: { record: LoadedRecord; hasPrices: boolean }) {
  const dated: Values = { ...values, ORDER_DATE: formatDate(values.ORDER_DATE ?? '') };
  const facts = FACTS.filter((name) => dated[name]).map((name) => [labelOf(name), dated[name]] as const);
  return (
    <>
      {saysCancelled(values) && <p class="sheet-mark">{values.ORDER_TYPE === 'invoice' ? 'VOID' : 'CANCELLED'}</p>}
      <KeyValue look="facts" rows={facts} />
      <Addresses values={values} />
      <table class="table sheet">
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">Description</th>
            <th scope="col" class="end">
              Units
            </th>
            {hasPrices && (
              <>
                <th scope="col" class="end">
                  Price
                </th>
                <th scope="col" class="end">
                  Total
                </th>
              </>
            )}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <SheetLine key={line.LINE_REF_LOCK_CODE} line={line} hasPrices={hasPrices} />
          ))}
        </tbody>
      </table>
      {hasPrices && <OrderTotals order={values} lines={lines} />}
      {values.NOTES && <p class="sheet-notes">{values.NOTES}</p>}
    </>
  );
}

function SheetLine({ line, hasPrices }: { line: Values; hasPrices: boolean }) {
  const { PART_CODE, DESCRIPTION, QUANTITY, UNIT_PRICE = '', DISCOUNT = '', SERIAL_NUMBERS = '' } = line;
  const serials = splitList(SERIAL_NUMBERS);
  return (
    <tr>
      <td>{PART_CODE}</td>
      <td class="wide">
        {DESCRIPTION}
        {serials.length > 0 && <div class="small mono">{serials.join(', ')}</div>}
      </td>
      <td class="end">{hasPrices ? QUANTITY : QUANTITY?.replace('-', '')}</td>
      {hasPrices && (
        <>
          <td class="end">
            {formatMoney(UNIT_PRICE)}
            {DISCOUNT !== '' && DISCOUNT !== '0' && ` less ${DISCOUNT} %`}
          </td>
          <td class="end">{UNIT_PRICE && formatMoney(amountOf(line))}</td>
        </>
      )}
    </tr>
  );
}
