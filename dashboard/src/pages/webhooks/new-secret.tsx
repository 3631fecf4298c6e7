/** The panel that shows a webhook's new secret once, with code that verifies deliveries with it. */
import { OneTimePanel } from '../../ui/dialog/one-time-panel.tsx';
import { Section } from '../../ui/page.tsx';
import { CodeTabs, CopyText } from '../../ui/text/copy.tsx';

const CODES = [
  [
    'TypeScript',
    [
      "import { verifyWebhook } from '@storeroom/client';",
      '',
      '// rawBody is the text of the request, before it is parsed. Throws if the signature is not valid.',
      'const event = await verifyWebhook(process.env.WEBHOOK_SECRET, request.headers, rawBody);',
    ].join('\n'),
  ],
  [
    'Python',
    `import os
from storeroom import verify_webhook

# raw_body is the bytes of the request, before they are parsed. Raises if the signature is not valid.
event = verify_webhook(os.environ["WEBHOOK_SECRET"], request.headers, raw_body)`,
  ],
] as const;

/** Example: `<NewSecret title="New webhook" secret={secret} onStored={() => setSecret(undefined)} />`. */
export const NewSecret = ({ title, secret, onStored }: { title: string; secret: string; onStored: () => void }) => (
  <OneTimePanel title={title} what="The secret is" onStored={onStored}>
    <CopyText text={secret} label="Copy the secret" />
    <Section
      title="Verify deliveries"
      description="Check the signature of each delivery before you trust it. Libraries for Standard Webhooks can do it too."
    >
      <CodeTabs label="Verify a delivery" codes={CODES} />
    </Section>
  </OneTimePanel>
);
