/** Shows the remedy for an error, with a link to the page where the user can apply it. */
import type { ErrorCode } from '../../../../src/errors.ts';
import { Link } from '../../browser/router.tsx';

type AdvicePage = readonly [to: string, label: string];
const FIELDS: AdvicePage = ['/fields', 'Fields'];
const EXPLORER: AdvicePage = ['/explorer', 'API explorer'];
const ORDERS: AdvicePage = ['/records/orders', 'Orders'];

const ADVICE_PAGES: Readonly<Partial<Record<ErrorCode, AdvicePage>>> = {
  MISSING_PARAMETER: EXPLORER,
  INVALID_PARAMETER: EXPLORER,
  UNKNOWN_PARAMETER: EXPLORER,
  INVALID_BODY: EXPLORER,
  MISSING_FIELD: FIELDS,
  UNKNOWN_FIELD: FIELDS,
  FIELD_NOT_ALLOWED: FIELDS,
  INVALID_VALUE: FIELDS,
  INVALID_FILTER: FIELDS,
  QUERY_TOO_COSTLY: FIELDS,
  ORDER_NOT_FOUND: ORDERS,
  LINE_NOT_FOUND: ORDERS,
  STAGE_NOT_ALLOWED: ORDERS,
  CUSTOMER_NOT_FOUND: ['/records/customers', 'Customers'],
  UNKNOWN_REFERENCE: ['/settings', 'Settings'],
  RATE_LIMITED: ['/settings', 'Settings'],
  QUOTA_EXCEEDED: ['/usage', 'Usage'],
};

const PAGE_OF_CODE = new Map<string, AdvicePage>(Object.entries(ADVICE_PAGES));

/** Example: `<CodeAdvice code="UNKNOWN_FIELD" remedy="Correct the name." />`. */
export function CodeAdvice({ code, remedy }: { code: string; remedy: string }) {
  const [to, label] = PAGE_OF_CODE.get(code) ?? [];
  return (
    <p>
      {remedy} {to && <Link to={to}>{label}</Link>}
    </p>
  );
}
