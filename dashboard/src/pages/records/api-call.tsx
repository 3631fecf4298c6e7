/**
 * The call of the API that gives what a page shows, as a request and as curl, folded until it is wanted.
 */
import { useId } from 'preact/hooks';
import { callURL, formatBody, formatCurl, type ApiCallText } from '../../api/call-text.ts';
import { useSession } from '../../session.tsx';
import { Method } from '../../ui/badge.tsx';
import { CodeBlock } from '../../ui/text/copy.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Tabs } from '../../ui/tabs.tsx';

/** Example: `<ApiCall call={{ method: 'GET', path: '/orders/single', query: { orderNum } }} />`. */
export function ApiCall({ call, label = 'API call' }: { call: ApiCallText; label?: string }) {
  const { baseURL, tenant } = useSession();
  const id = useId();
  const url = callURL({ baseURL, teamID: tenant.teamID }, call);
  const sent = call.body === undefined ? '' : `\nContent-Type: application/json\n\n${formatBody(call.body)}`;
  const request = `${call.method} ${url}${sent}`;
  const curl = formatCurl(url, call);
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
        <Tabs
          label={label}
          tabs={[
            { id: 'request', label: 'Request', content: () => <CodeBlock label="Request" code={request} /> },
            { id: 'curl', label: 'curl', content: () => <CodeBlock label="curl" code={curl} /> },
          ]}
        />
        <p class="hint">
          Calls made with your keys are metered; what the pages under Records read is not. Put the keys into the
          environment as <code>API_ID</code> and <code>API_SECRET</code>.
        </p>
      </div>
    </details>
  );
}
