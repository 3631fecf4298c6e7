/**
 * Settings of the team: name, default stage, strict references and a limit of calls a month. Owners change them, others
 * read them. The operator sets limits too. Begin here.
 */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { SettingsView } from '../../../../src/http/dashboard/interface.ts';
import { FIRST_STAGES } from '../../../../src/pims/rules/stages.ts';
import { NAME_CHARACTERS_MAX } from '../../../../src/tenant/tenant.ts';
import { post } from '../../api/client.ts';
import { useGet } from '../../api/use-load.ts';
import { useSession } from '../../api/session.tsx';
import { countOf, KeyValue, labelStage, StageBadge, Time } from '../../ui/text/text.tsx';
import { SubmitActions } from '../../ui/button.tsx';
import { CopyText } from '../../ui/text/copy.tsx';
import { LeaveGuard } from '../../ui/dialog/leave-guard.tsx';
import { Checkbox, RadioGroup, TextField, useEntry } from '../../ui/form/field.tsx';
import { Form } from '../../ui/form/form.tsx';
import { Card, Page, Section, WhenLoaded } from '../../ui/page.tsx';
import { toast } from '../../ui/toaster.tsx';

const STAGE_HINTS: Readonly<Record<SettingsView['defaultStage'], string>> = {
  worksheet: 'The order is a draft, to be checked before it is offered or ordered. It reserves no stock.',
  quote: 'The order is an offer to the customer. It reserves no stock.',
  sales_order: 'The customer has ordered. The order reserves its stock immediately.',
};
const STRICT_ON =
  'Codes of parts, customers and locations must exist. Unknown codes are rejected with UNKNOWN_REFERENCE.';
const STRICT_OFF = 'Unknown codes of parts, customers and locations are accepted.';

const count = new Intl.NumberFormat('en');
const limit = (most: number | null) => (most === null ? 'No limit' : count.format(most));

export default function SettingsPage() {
  const { user, may, reload: reloadSession } = useSession();
  const loaded = useGet('/settings');
  const [saved, setSaved] = useState<SettingsView>();
  const keep = (changed: SettingsView) => {
    setSaved(changed);
    toast('Settings saved');
    void reloadSession();
  };
  return (
    <Page
      title="Settings"
      width="narrow"
      description={may('owner') ? undefined : `Your role is ${user.role}. Only owners can change settings.`}
    >
      <WhenLoaded from={{ ...loaded, data: saved ?? loaded.data }} lines={8}>
        {(settings) => (
          <>
            <Card>
              {may('owner') ? <SettingsForm settings={settings} onSaved={keep} /> : <Settings settings={settings} />}
            </Card>
            <Limits settings={settings} />
            <About settings={settings} />
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

function SettingsForm({ settings, onSaved }: { settings: SettingsView; onSaved: (settings: SettingsView) => void }) {
  const name = useEntry(settings.name);
  const defaultStage = useEntry(settings.defaultStage);
  const [isStrict, setStrict] = useState(settings.strict);
  const limitText = useEntry(String(settings.ownQuota ?? ''));
  const isChanged =
    name.value.trim() !== settings.name ||
    defaultStage.value !== settings.defaultStage ||
    isStrict !== settings.strict ||
    limitText.value.trim() !== String(settings.ownQuota ?? '');
  const save = async () => {
    const ownQuota = limitText.value.trim() === '' ? null : Number(limitText.value);
    const changed = await post('/settings', {
      name: name.value.trim(),
      defaultStage: defaultStage.value,
      strict: isStrict,
      ownQuota,
    });
    name.onValue(changed.name);
    onSaved(changed);
  };
  return (
    <Form onSubmit={save} label="Settings of the team">
      {isChanged && (
        <LeaveGuard title="Leave without saving?" description="Your changes to the settings would be lost." />
      )}
      <TextField label="Name" name="name" required maxLength={NAME_CHARACTERS_MAX} autocomplete="off" {...name} />
      <RadioGroup
        label="Default stage"
        name="defaultStage"
        hint="New orders that are sent without ORDER_TYPE get this stage."
        {...defaultStage}
        options={FIRST_STAGES.map((stage) => [stage, labelStage(stage), STAGE_HINTS[stage]])}
      />
      <Checkbox
        label="Strict references"
        name="strict"
        isChecked={isStrict}
        onChecked={setStrict}
        hint={isStrict ? STRICT_ON : STRICT_OFF}
      />
      <TextField
        label="Limit of calls a month"
        name="ownQuota"
        type="number"
        min={1}
        step={1}
        hint={
          settings.monthQuota === null
            ? 'Leave empty for no limit. Calls above the limit get 429 until the next month (UTC).'
            : `The operator allows ${count.format(settings.monthQuota)} calls. Leave empty for no lower limit.`
        }
        {...limitText}
      />
      <SubmitActions>Save</SubmitActions>
    </Form>
  );
}

const Settings = ({ settings: { name, defaultStage, strict } }: { settings: SettingsView }) => (
  <KeyValue
    rows={[
      ['Name', name],
      ['Default stage', <WithHint value={<StageBadge stage={defaultStage} />} hint={STAGE_HINTS[defaultStage]} />],
      ['Strict references', <WithHint value={strict ? 'On' : 'Off'} hint={strict ? STRICT_ON : STRICT_OFF} />],
    ]}
  />
);

const WithHint = ({ value, hint }: { value: ComponentChildren; hint: string }) => (
  <>
    {value}
    <p class="hint">{hint}</p>
  </>
);

const Limits = ({ settings }: { settings: SettingsView }) => (
  <Section
    title="Limits"
    description={
      <>
        Of the two monthly limits, the lower one applies. The operator sets the first one with{' '}
        <code>storeroom tenant set</code>.
      </>
    }
  >
    <Card>
      <KeyValue
        rows={[
          ['Calls a month (UTC), set by the operator', limit(settings.monthQuota)],
          ['Calls a month (UTC), set by your owners', limit(settings.ownQuota)],
          ['Calls a second', limit(settings.callsPerSecond)],
        ]}
      />
    </Card>
  </Section>
);

const About = ({ settings: { teamID, createdAt, requestLogDays } }: { settings: SettingsView }) => (
  <Section title="About this team">
    <Card>
      <KeyValue
        rows={[
          ['Team ID', <CopyText text={teamID} label="Copy the team ID" />],
          ['Created', <Time at={createdAt} to="days" />],
          ['Request log kept', countOf(requestLogDays, 'day')],
        ]}
      />
    </Card>
  </Section>
);
