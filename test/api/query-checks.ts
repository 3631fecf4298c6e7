/** Provides the checks that the tests of the three queries share, and two records that differ in every field. */
import assert from 'node:assert/strict';
import type { KeyedType } from '../../src/pims/rules/fields.ts';
import { expectRefusal, FIELDS, sampleOf, Shop, succeed, type Values, valuesOf } from '../kit/records.ts';
import type { Answer } from '../kit/service.ts';

const EARLY = { CREATE_DATE: '2026-01-02T03:04:05.000Z', MODIFIED_DATE: '2026-01-03T03:04:05.000Z' };
const LATE = { CREATE_DATE: '2026-02-02T03:04:05.000Z', MODIFIED_DATE: '2026-02-03T03:04:05.000Z' };
const OPERATIONS = { orders: 'queryOrders', customers: 'queryCustomers', inventory: 'queryInventoryItems' } as const;

export class QueryChecks {
  readonly shop: Shop;
  readonly #recordType: KeyedType;

  private constructor(shop: Shop, recordType: KeyedType) {
    this.shop = shop;
    this.#recordType = recordType;
  }

  /** Loads both records; `one` and `other` have the values that differ from the samples. */
  static async open(recordType: KeyedType, one: Values, other: Values): Promise<QueryChecks> {
    const checks = new QueryChecks(await Shop.shared(), recordType);
    await checks.shop.load(recordType, [
      { ...sampleOf(recordType, 1), ...EARLY, ...one },
      { ...sampleOf(recordType, 2), ...LATE, ...other },
    ]);
    return checks;
  }

  ask(...filters: Record<string, unknown>[]): Promise<Answer> {
    return this.shop[OPERATIONS[this.#recordType]](filters);
  }

  find(...filters: Record<string, unknown>[]): Promise<Values[]> {
    return succeed<Values[]>(this.ask(...filters));
  }

  /** Returns the keys of the records that are found, in their order. */
  async findKeys(...filters: Record<string, unknown>[]): Promise<string[]> {
    return valuesOf(await this.find(...filters), FIELDS[this.#recordType][0]!);
  }

  /** Checks that the field finds one record, with all its fields, as its single read returns it. */
  async expectWhole(field: string, single: Promise<Answer>): Promise<void> {
    const found = await this.find({ field, value: `${field} of 1` });
    assert.equal(found.length, 1);
    assert.deepEqual(Object.keys(found[0]!).toSorted(), FIELDS[this.#recordType].toSorted());
    assert.deepEqual(found[0], (await single).body.data);
  }

  /** Checks that every field can be filtered on: the value of a record finds that record and not the other. */
  async expectFilterOnEveryField(): Promise<void> {
    const records = await this.find();
    for (const [one, other] of [records, records.toReversed()] as [Values, Values][])
      for (const field of FIELDS[this.#recordType]) {
        assert.notEqual(one[field], other[field], `${field} must differ for the test to tell anything`);
        const both = [
          { field, value: one[field], contains: true },
          { field, value: other[field] },
        ];
        assert.deepEqual(await this.find({ field, value: one[field] }), [one], field);
        assert.deepEqual(await this.find(...both), [], field);
      }
  }

  async expectUnknownFields(...fields: string[]): Promise<void> {
    for (const field of fields) expectRefusal(await this.ask({ field, value: 'x' }), 400, 'UNKNOWN_FIELD', field);
  }

  async expectInvalidBodies(...bodies: unknown[]): Promise<void> {
    const { service, keys } = this.shop;
    for (const body of bodies)
      expectRefusal(await service.call(keys, 'POST', `/${this.#recordType}/query`, { body }), 400, 'INVALID_BODY');
  }
}
