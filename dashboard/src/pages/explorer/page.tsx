/**
 * The API explorer: shows every operation of the contract, and calls it with the tenant's own records. Calls use the
 * session and are metered. Begin here.
 */
import { useLoad } from '../../api/use-load.ts';
import { Link, navigate, pathOf, useParams } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { Method } from '../../ui/text/text.tsx';
import { Select } from '../../ui/form/field.tsx';
import { Page, WhenLoaded } from '../../ui/page.tsx';
import { Answer } from './answer.tsx';
import { CodeSamples } from './code-samples.tsx';
import { loadOperations, type ExplorerOperation } from './contract.ts';
import { CallForm } from './call-form.tsx';
import { Reference } from './operation-reference.tsx';
import { useCall } from './use-call.ts';

const pathTo = (name: string) => pathOf('/explorer/:operation', { operation: name });

export default function ExplorerPage() {
  const { operation: name } = useParams();
  const { baseURL } = useSession();
  const operations = useLoad(`contract of ${baseURL}`, () => loadOperations(baseURL));
  const { data } = operations;
  const chosen = name === undefined ? data?.[0] : data?.find((operation) => operation.name === name);
  const isUnknown = data !== undefined && chosen === undefined;
  // The page stays the same, so that its heading keeps the focus when the contract arrives.
  return (
    <div class="explorer">
      <OperationList operations={data ?? []} chosen={chosen?.name ?? ''} />
      <Page
        title={chosen?.summary ?? (isUnknown ? 'Operation not found' : 'API explorer')}
        description={isUnknown ? `There is no operation '${name}'. Choose one from the list.` : chosen?.description}
      >
        <WhenLoaded from={operations} lines={8}>
          {() => chosen !== undefined && <OperationPanel operation={chosen} baseURL={baseURL} />}
        </WhenLoaded>
      </Page>
    </div>
  );
}

function OperationList({ operations, chosen }: { operations: readonly ExplorerOperation[]; chosen: string }) {
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return (
    <div class="explorer-list">
      <div class="explorer-select">
        <Select
          label="Operation"
          name="operation"
          value={chosen}
          onValue={(next) => navigate(pathTo(next))}
          options={[
            ...(chosen === '' ? [['', 'Choose an operation'] as const] : []),
            ...operations.map(({ name, method, summary }) => [name, `${method} · ${summary}`] as const),
          ]}
        />
      </div>
      <nav aria-label="Operations">
        {tags.map((tag) => (
          <div key={tag} class="nav-section">
            <h2 class="nav-title">{tag}</h2>
            <ul>
              {operations
                .filter((operation) => operation.tag === tag)
                .map(({ name, method, summary }) => (
                  <li key={name}>
                    <Link
                      to={pathTo(name)}
                      class="nav-item"
                      title={summary}
                      aria-current={name === chosen ? 'page' : undefined}
                    >
                      <Method method={method} />
                      <span>{summary}</span>
                    </Link>
                  </li>
                ))}
            </ul>
          </div>
        ))}
      </nav>
    </div>
  );
}

function OperationPanel({ operation, baseURL }: { operation: ExplorerOperation; baseURL: string }) {
  const call = useCall(operation);
  return (
    <>
      <p class="explorer-target">
        <Method method={operation.method} />
        <code>
          <span class="muted">{new URL(baseURL).pathname}</span>
          {operation.path}
        </code>
      </p>
      <div class="explorer-panel">
        <CallForm operation={operation} call={call} />
        <div class="explorer-answer">
          <Answer call={call} />
          <CodeSamples operation={operation} input={call.input} />
        </div>
      </div>
      <Reference operation={operation} />
    </>
  );
}
