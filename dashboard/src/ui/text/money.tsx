/** Amounts of money in the form of the viewer's locale, exact, with at least two decimals and separated thousands. */

const format = new Intl.NumberFormat(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 20 });

/** Example: `formatMoney('24464.5')` gives `24,464.50` in English; a text that is not a number stays unchanged. */
export const formatMoney = (amount: string): string =>
  /^-?\d+(\.\d+)?$/.test(amount) ? format.format(amount as Intl.StringNumericLiteral) : amount;

/** Example: `<Money value={order.ORDER_TOTAL} />`; a negative one is red. Its title has the text of the API. */
export const Money = ({ value }: { value: string }) => (
  <span class={value.startsWith('-') ? 'negative' : undefined} title={value}>
    {formatMoney(value)}
  </span>
);
