/** Tests stock at the command line: received, counted, adjusted, and listed from the ledger. */
import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { openCommandLine } from '../kit/cli-process.ts';

interface History {
  movements: Record<string, string | number>[];
}

suite('stock from the command line', () => {
  const { ask, refused, file } = openCommandLine();
  before(async () => {
    await ask('tenant create acme --name Acme --create');
    await ask('import acme inventory', file('parts.csv', 'PART_CODE,QTY_ONHAND,SERIALIZED\nMUG,5,\nPHONE,0,Y\n'));
  });

  test('units are received and removed, each with a reason, and the ledger lists all of them', async () => {
    assert.equal((await ask<{ QTY_ONHAND: string }>('stock receive acme MUG 7 --reason DHL')).QTY_ONHAND, '12');
    assert.equal((await ask<{ QTY_ONHAND: string }>('stock count acme MUG 11')).QTY_ONHAND, '11');
    assert.equal((await ask<{ QTY_ONHAND: string }>('stock adjust acme MUG -2 --reason broken')).QTY_ONHAND, '9');
    const { movements } = await ask<History>('stock history acme MUG');
    assert.deepEqual(
      movements.map(({ NUMBER, KIND, QUANTITY, AFTER, REASON, DONE_BY }) =>
        [NUMBER, KIND, QUANTITY, AFTER, REASON, DONE_BY].join(' '),
      ),
      [
        '4 adjusted -2 9 broken command line',
        '3 counted -1 11  command line',
        '2 received 7 12 DHL command line',
        '1 imported 5 5  import',
      ],
    );
    await ask('stock receive acme PHONE 2 --serial A,B');
    assert.equal((await ask<{ QTY_ONHAND: string }>('stock count acme PHONE 1 --serial B')).QTY_ONHAND, '1');
    const [counted] = (await ask<History>('stock history acme PHONE')).movements;
    assert.deepEqual([counted!['QUANTITY'], counted!['SERIALS']], ['-1', 'A']);
  });

  test('impossible quantities and parts are refused, and move nothing', async () => {
    for (const command of ['receive acme MUG 0', 'count acme MUG -1', 'adjust acme MUG 1', 'receive acme none 1'])
      await refused(`stock ${command}`);
    await refused('stock receive acme PHONE 1');
    await refused('stock count acme PHONE 1');
    assert.equal((await ask<History>('stock history acme MUG')).movements.length, 4);
  });

  test('with --from, a stock that is another by now is refused and stays', async () => {
    const words = ['count acme MUG 20', 'receive acme MUG 1', 'adjust acme MUG 1 --reason found'];
    for (const command of words) {
      const { code, field, message } = await refused(`stock ${command} --from 8`);
      assert.deepEqual([code, field], ['RECORD_CHANGED', 'FROM_QUANTITY']);
      assert.match(message, /^Part MUG has 9 on hand, not 8\./);
    }
    assert.equal((await ask<{ QTY_ONHAND: string }>('stock count acme MUG 9 --from 9')).QTY_ONHAND, '9');
  });
});
