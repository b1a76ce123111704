/** The text of live rows: what the encoder writes is read again, and texts are equal where values are. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOOLEAN, decimal, INTEGER, type IqlType, JSON_TYPE, TEXT, TIMESTAMP } from 'gatehouse-iql'
import { createLiveEncoder, liveKeyWriter, readLiveRows } from '../../../packages/server/src/query/results/live-rows.ts'
import { atOnce } from '../../support/steps.ts'

const rowsIn = (text: string) => atOnce(readLiveRows(text))
const column = (name: string, type: IqlType) => ({ name, type, nullable: true })
const COLUMNS = [column('price', decimal(12, 4)), column('note', TEXT), column('details', JSON_TYPE)]
const KEY = [column('id', INTEGER), column('symbol', TEXT)]
const ROUTE = [column('at', TIMESTAMP), column('open', BOOLEAN)]

test('a row is written as its key, its route and its columns', () => {
  const encoder = createLiveEncoder(
    { columns: COLUMNS, keyColumns: KEY, routeColumns: ROUTE },
    { rows: 'objects', integers: 'numbers' },
  )
  encoder.add([
    '45.1000',
    'a\tb\nc',
    '{\t"a":\r\n[1,\t"\\t"]}',
    9007199254740993n,
    'B\tHP',
    '2026-01-30T10:00:00Z',
    true,
  ])
  encoder.add([null, null, null, 2, '', null, null])
  assert.ok(encoder.pending > 0)
  assert.deepEqual(rowsIn(encoder.takeText()), [
    {
      key: '[9007199254740993,"B\\tHP"]',
      route: '["2026-01-30T10:00:00Z",true]',
      row: '{"price":"45.1000","note":"a\\tb\\nc","details":{ "a":  [1, "\\t"]}}',
    },
    { key: '[2,""]', route: '[null,null]', row: '{"price":null,"note":null,"details":null}' },
  ])
  assert.equal(encoder.pending, 0)
})

test('arrays and integers as strings hold for keys too', () => {
  const encoding = { rows: 'arrays', integers: 'strings' } as const
  const encoder = createLiveEncoder({ columns: KEY, keyColumns: [column('id', INTEGER)], routeColumns: [] }, encoding)
  encoder.add([1n, 'BHP', 1n])
  assert.deepEqual(rowsIn(encoder.takeText()), [{ key: '["1"]', route: '[]', row: '["1","BHP"]' }])
  assert.equal(liveKeyWriter([column('id', INTEGER)], encoding)([1n]), '["1"]')
})

test('a result of one row has an empty key, and rows without a key have none', () => {
  const encoding = { rows: 'objects', integers: 'numbers' } as const
  const readText = (keyColumns: [] | undefined) => {
    const encoder = createLiveEncoder({ columns: [column('n', INTEGER)], keyColumns, routeColumns: [] }, encoding)
    encoder.add([3])
    return encoder.takeText()
  }
  assert.deepEqual(rowsIn(readText([])), [{ key: '[]', route: '[]', row: '{"n":3}' }])
  assert.deepEqual(rowsIn(readText(undefined)), [{ key: '', route: '[]', row: '{"n":3}' }])
  assert.deepEqual(rowsIn(''), [])
  assert.throws(() => rowsIn('[1]\t[]\t{"n":3}'))
})
