/** A table with a column of every type, and a row that fills it. */
import assert from 'node:assert/strict'
import type { QueryServer } from './query-server.ts'

export const EVERY_TYPE = {
  id: 1,
  t: 'a,"b"\r\n',
  d: '-12345.6789',
  f: 0.1,
  o: true,
  s: '2026-01-02T03:04:05.000001Z',
  a: '1969-12-31',
  m: '23:59:59.999999',
  u: '123e4567-e89b-12d3-a456-426614174000',
  j: { k: [1, null] },
  b: 'AP8=',
  w: '-12345678901234567890.123456789012345678',
}

/** Creates the table `every` with these rows. */
export async function createEvery(server: QueryServer, rows: readonly object[]): Promise<void> {
  await server.query(
    'CREATE TABLE every (id Integer PRIMARY KEY, t Text, d Decimal(18,4), f Double, o Boolean, s Timestamp, a Date, m Time, u Uuid, j Json, b Binary, w Decimal(38, 18))',
  )
  assert.equal((await server.call('/query/every/insert', rows)).status, 200)
}
