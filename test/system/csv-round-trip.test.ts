/** Tests that hostile texts come back byte for byte: exported, imported into another tenant, and exported again. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { valuesOf } from '../kit/lists.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { temporaryFolder } from '../kit/service.ts';

const HOSTILE = [
  '=1+1', '+49 30 1234567', '-2', '-2.50', '-1-1', '@A1', "'=1", "''=1", "'+49", "'-2", '"=1"', '\'"=1"', '"', '""', "'",
  "''", "'01234", "''01234", "'90s", '\t=1', '\r=1', '\n=1', '=1\r\n=2', "x;=cmd|' /C calc'!A0;", "x;'=1", "x;''01", 'a,b;c|d\te',
  ' ', ' leading', 'trailing ', '\u{feff}', '\u{feff}=1', '\u{fffd}', 'ßé東𝒳', '\r', '\n', '\r\n', ',', 'line\nline\n', '\\n',
  '\u{2028}', 'NULL', '#REF!', '1e5', '007',
]; // prettier-ignore

test(`${HOSTILE.length} hostile texts are the same after export, import and export, for programs and for spreadsheets`, async () => {
  const source = await Shop.shared('source');
  for (const text of HOSTILE) await succeed(source.createCustomer({ CUSTOMER_NAME: text, NOTES: `${text}\n${text}` }));
  const folder = temporaryFolder();
  for (const options of [[], ['--spreadsheet']]) {
    const target = await Shop.open(source.service, `target${options.length}`);
    const [before, after] = [join(folder, 'before.csv'), join(folder, 'after.csv')];
    await source.run('export', 'source', 'customers', '--output', before, ...options);
    await target.run('import', target.keys.teamID, 'customers', before);
    await target.run('export', target.keys.teamID, 'customers', '--output', after, ...options);
    assert.ok(readFileSync(before).equals(readFileSync(after)));
    const { data } = (await target.queryCustomers([])).body as { data: Values[] };
    assert.deepEqual(valuesOf(data, 'CUSTOMER_NAME'), HOSTILE);
    assert.deepEqual(
      valuesOf(data, 'NOTES'),
      HOSTILE.map((text) => `${text}\n${text}`),
    );
  }
});
