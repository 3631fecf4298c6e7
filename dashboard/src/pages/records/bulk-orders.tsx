/** The orders that are approved or invoiced together: their names, their sum, and the parts that are not in stock. */
import { addDecimals } from '../../../../src/pims/rules/decimal.ts';
import { where } from '../../records/filters.ts';
import { loadStock, queryRecords } from '../../records/records.ts';
import { useLoad } from '../../api/use-load.ts';
import { WhenLoaded } from '../../ui/page.tsx';
import { formatMoney, Money } from '../../ui/text/text.tsx';
import { Shortages, stockedParts } from '../../records/lines/stock-table.tsx';
import { totalOf } from '../../records/lines/totals.tsx';

/** Example: `<BulkOrders numbers={selected} isShipped />`. `isShipped` says that their units leave the stock. */
export function BulkOrders({ numbers, isShipped }: { numbers: readonly string[]; isShipped: boolean }) {
  const key = numbers.join(',');
  const loaded = useLoad(key, async (signal) => {
    const filters = [where('ORDER_NUMBER', 'in', key)];
    const page = await queryRecords('orders', filters, { maxReturn: numbers.length, include: 'lines' }, signal);
    if (page.next !== null) throw new Error('The orders have too many lines to add up. Select fewer.');
    const orders = page.rows.map((order) => {
      const lines = page.lines.filter((line) => line.ORDER_NUMBER === order.ORDER_NUMBER);
      return [order, lines, totalOf(order, lines)] as const;
    });
    const lines = orders.flatMap(([{ DROP_SHIP }, own]) => (isShipped && DROP_SHIP !== 'Y' ? own : []));
    return { orders, lines, stock: await loadStock(stockedParts(lines), signal) };
  });
  return (
    <WhenLoaded from={loaded} lines={3}>
      {({ orders, lines, stock }) => (
        <>
          <ul class="commitment">
            {orders.map(([{ ORDER_NUMBER, BNAME, CUSTOMER_CODE }, , total]) => (
              <li key={ORDER_NUMBER}>
                <strong>{ORDER_NUMBER}</strong> <bdi>{BNAME || CUSTOMER_CODE}</bdi> <Money value={total} />
              </li>
            ))}
          </ul>
          <p>
            <strong>Sum {formatMoney(orders.map(([, , total]) => total).reduce(addDecimals, '0'))}</strong>
          </p>
          <Shortages lines={lines} stock={stock} />
        </>
      )}
    </WhenLoaded>
  );
}
