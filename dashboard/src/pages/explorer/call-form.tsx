/**
 * The form of an operation, filled in with the examples of the contract. Only developers and owners can send writes,
 * after they confirm them.
 */
import { useState } from 'preact/hooks';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Checkbox, TextArea, TextField } from '../../ui/form/field.tsx';
import { Form } from '../../ui/form/form.tsx';
import { Notice } from '../../ui/page.tsx';
import type { ExplorerCall } from './use-call.ts';
import { IDEMPOTENCY_KEY, TEAM, type DescribedField, type ExplorerOperation } from './contract.ts';

const ROWS_MIN = 6;
const ROWS_MAX = 18;

export function CallForm({ operation, call }: { operation: ExplorerOperation; call: ExplorerCall }) {
  const { tenant, may } = useSession();
  const [isConfirmed, setConfirmed] = useState(false);
  const { input, change, send, isSending } = call;
  const isAllowed = !operation.isWrite || may('developer');
  return (
    <div>
      <Form onSubmit={send} label="Call">
        <TextField
          label={TEAM}
          name={TEAM}
          isMono
          disabled
          value={tenant.teamID}
          onValue={() => {}}
          hint="This is always your team."
        />
        {operation.parameters
          .filter(({ name, place }) => place === 'query' && name !== TEAM)
          .map((parameter) => (
            <ParameterField
              key={parameter.name}
              parameter={parameter}
              value={input.query[parameter.name] ?? ''}
              onValue={(value) => change({ query: { ...input.query, [parameter.name]: value } })}
            />
          ))}
        {operation.body && (
          <TextArea
            label="Body, as JSON"
            name="body"
            isMono
            rows={Math.min(Math.max(operation.body.example.split('\n').length + 1, ROWS_MIN), ROWS_MAX)}
            hint={operation.body.description}
            isExact
            value={input.body}
            onValue={(body) => change({ body })}
          />
        )}
        {operation.parameters
          .filter(({ place }) => place === 'header')
          .map((header) => (
            <HeaderField
              key={header.name}
              parameter={header}
              value={input.headers[header.name] ?? ''}
              onValue={(value) => change({ headers: { ...input.headers, [header.name]: value } })}
            />
          ))}
        {operation.isWrite && isAllowed && (
          <Checkbox
            label="This changes live data"
            name="confirm"
            isChecked={isConfirmed}
            onChecked={setConfirmed}
            hint={`The call changes the records of ${tenant.name}, like any call of an app.`}
          />
        )}
        {!isAllowed && <Notice>This operation changes records. To use it, ask an owner for the developer role.</Notice>}
        <div class="explorer-send">
          <Button
            type="submit"
            tone="primary"
            isBusy={isSending}
            disabled={!isAllowed || (operation.isWrite && !isConfirmed)}
          >
            Send
          </Button>
          <p class="hint">The call counts toward your quota and is logged under your name.</p>
        </div>
      </Form>
    </div>
  );
}

interface ParameterFieldProps {
  parameter: DescribedField;
  value: string;
  onValue: (value: string) => void;
}
const ParameterField = ({ parameter: { name, isRequired, description }, ...entry }: ParameterFieldProps) => (
  <TextField
    label={isRequired ? name : `${name} (optional)`}
    name={name}
    isMono
    hint={description}
    isExact
    {...entry}
  />
);

const HeaderField = (field: ParameterFieldProps) => (
  <div class="explorer-key">
    <ParameterField {...field} />
    {field.parameter.name === IDEMPOTENCY_KEY && (
      <Button size="small" onClick={() => field.onValue(crypto.randomUUID())}>
        Generate
      </Button>
    )}
  </div>
);
