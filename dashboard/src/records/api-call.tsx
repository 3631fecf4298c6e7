/** The API call that returns the data of a page, as a request and as curl, initially collapsed. */
import { useId } from 'preact/hooks';
import { callURL, formatBody, formatCurl, type ApiCallText } from '../api/call-text.ts';
import { useSession } from '../api/session.tsx';
import { Method } from '../ui/text/text.tsx';
import { Icon } from '../ui/icon.tsx';
import { CodeTabs, KeysHint } from '../ui/text/copy.tsx';

/** Example: `<ApiCall call={{ method: 'GET', path: '/orders/single', query: { orderNum } }} />`. */
export function ApiCall({ call, label = 'API call' }: { call: ApiCallText; label?: string }) {
  const { baseURL, tenant } = useSession();
  const id = useId();
  const url = callURL({ baseURL, teamID: tenant.teamID }, call);
  const sent = call.body === undefined ? '' : `\nContent-Type: application/json\n\n${formatBody(call.body)}`;
  return (
    <details class="api-call">
      <summary>
        <Icon name="explorer" />
        <span id={id}>{label}</span>
        <span class="api-call-path">
          <Method method={call.method} /> <code>{call.path}</code>
        </span>
      </summary>
      <div class="api-call-body">
        <CodeTabs
          label={label}
          codes={[
            ['Request', `${call.method} ${url}${sent}`],
            ['curl', formatCurl(url, call)],
          ]}
        />
        <KeysHint what="command"> Calls with keys count toward your quota; reading these pages does not.</KeysHint>
      </div>
    </details>
  );
}
