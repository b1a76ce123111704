/** The model of the grid, without a browser: exact order and filters, live rows, work in slices. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellText } from '../../packages/console/src/grid/cell-text.ts'
import type { GridColumn } from '../../packages/console/src/grid/column.ts'
import { rowsAs } from '../../packages/console/src/grid/copy.ts'
import { GridModel, type GridRow } from '../../packages/console/src/grid/model.ts'
import { shownText } from '../../packages/console/src/grid/shown-text.ts'
import { until } from '../support/until.ts'

function createModel(columns: readonly GridColumn[], rows: readonly GridRow[]): GridModel {
  const model = new GridModel(columns)
  model.append(rows)
  return model
}

function one(type: string, values: readonly unknown[]): GridModel {
  return createModel(
    [{ name: 'v', type }],
    values.map((value) => [value]),
  )
}

function shown(model: GridModel): unknown[] {
  return Array.from({ length: model.size }, (_, index) => model.row(index)[0])
}

/** Once the model has caught up with all that was asked for. */
async function settled(model: GridModel): Promise<unknown[]> {
  const before = model.version.value
  await until('the rows are arranged', 2000, () => model.version.value > before && !model.arranging.value)
  return shown(model)
}

const SORTS: readonly (readonly [type: string, values: readonly unknown[], ascending: readonly unknown[]])[] = [
  [
    'Integer',
    [9223372036854775807n, 2, 9223372036854775806n, null, -9007199254740993n, -9007199254740992n, 2],
    [-9007199254740993n, -9007199254740992n, 2, 2, 9223372036854775806n, 9223372036854775807n, null],
  ],
  [
    'Decimal(38, 20)',
    ['10.00000000000000000002', '9.5', '10.00000000000000000001', '-0.1', null, '-10.2'],
    ['-10.2', '-0.1', '9.5', '10.00000000000000000001', '10.00000000000000000002', null],
  ],
  ['Double', [2.5, Number.NaN, -1, null, Infinity], [-1, 2.5, Infinity, Number.NaN, null]],
  [
    'Timestamp',
    ['2026-01-01T00:00:00.000002Z', '2026-01-01T00:00:00.000001Z', '2025-12-31T23:59:59.999999Z', null],
    ['2025-12-31T23:59:59.999999Z', '2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00.000002Z', null],
  ],
  [
    'LocalTimestamp',
    ['2026-01-01T00:00:00.5', '2026-01-01T00:00:00', null, '2026-01-01T00:00:00.25'],
    ['2026-01-01T00:00:00', '2026-01-01T00:00:00.25', '2026-01-01T00:00:00.5', null],
  ],
  [
    'Text',
    ['b', '', 'abcd', 'abc', '\u{1f600}', '\uff5e', null],
    ['', 'abc', 'abcd', 'b', '\uff5e', '\u{1f600}', null],
  ],
  ['Boolean', [true, null, false], [false, true, null]],
]

test('a LocalTimestamp is shown as it is, whatever the zone of the viewer', () => {
  assert.equal(cellText('2026-03-08T02:30:00.5', 'LocalTimestamp', 3), '2026-03-08 02:30:00.500')
  assert.equal(cellText('2026-03-08T02:30:00', 'LocalTimestamp'), '2026-03-08 02:30:00')
})

for (const [type, values, ascending] of SORTS)
  test(`a ${type} is sorted by value, in both directions, with NULL as ORDER BY has it`, async () => {
    const model = one(type, values)
    model.setSort({ column: 0, descending: false })
    assert.deepEqual(await settled(model), ascending)
    model.setSort({ column: 0, descending: true })
    assert.deepEqual(await settled(model), [...ascending].reverse())
    model.setSort(undefined)
    assert.deepEqual(await settled(model), values)
  })

test('rows that are equal stay in their order, also when sorted descending', async () => {
  const rows = Array.from({ length: 5000 }, (_, index) => [index % 3, index])
  const model = createModel(
    [
      { name: 'group', type: 'Integer' },
      { name: 'id', type: 'Integer' },
    ],
    rows,
  )
  model.setSort({ column: 0, descending: true })
  await settled(model)
  const ids = Array.from({ length: model.size }, (_, index) => model.row(index)[1] as number)
  assert.deepEqual(
    ids,
    [2, 1, 0].flatMap((group) => rows.filter(([own]) => own === group).map(([, id]) => id)),
  )
})

const FILTERS: readonly (readonly [
  type: string,
  filter: string,
  values: readonly unknown[],
  left: readonly unknown[],
])[] = [
  ['Integer', '> 9007199254740992', [9007199254740992n, 9007199254740993n, null], [9007199254740993n]],
  ['Decimal(18, 4)', '= 1.1', ['1.1000', '1.1001', null], ['1.1000']],
  ['Decimal(18, 4)', '<= 1.1', ['1.1000', '1.1001', '-3'], ['1.1000', '-3']],
  ['Integer', '> 1,234', [1234n, 1235n, null], [1235n]],
  ['Text', 'ACM', ['acme', 'Bolt', null], ['acme']],
  ['Text', '!= acme', ['acme', 'Bolt', null], ['Bolt']],
  ['Text', 'null', ['null', null], [null]],
  ['Text', 'not null', ['x', null], ['x']],
  ['Json', 'deep', [{ a: { deep: 1 } }, { a: 1 }], [{ a: { deep: 1 } }]],
  [
    'Timestamp',
    '>= 2026-01-01T00:00:00.000002Z',
    ['2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00.000002Z'],
    ['2026-01-01T00:00:00.000002Z'],
  ],
  ['LocalTimestamp', '< 2026-01-01 09:30', ['2026-01-01T09:29:59', '2026-01-01T09:30:00'], ['2026-01-01T09:29:59']],
]

for (const [type, filter, values, left] of FILTERS)
  test(`the filter ${filter} of a ${type}`, async () => {
    const model = one(type, values)
    model.setFilter(0, filter)
    assert.deepEqual(await settled(model), left)
    model.clearFilters()
    assert.deepEqual(await settled(model), values)
  })

test('rows that are appended later take their place in the sort and the filter', async () => {
  const model = one('Integer', [5, 1])
  model.setSort({ column: 0, descending: false })
  model.setFilter(0, '!= 3')
  assert.deepEqual(await settled(model), [1, 5])
  model.append([[4], [3], [0]])
  assert.deepEqual(await settled(model), [0, 1, 4, 5])
})

test('many rows are packed: every value, sort, filter and change stays exact', async () => {
  const columns = ['Integer', 'Text', 'Text', 'Double', 'Json', 'Integer', 'Text'].map((type, at) => ({
    name: `c${at}`,
    type,
  }))
  const rows = Array.from({ length: 3000 }, (_, at) => [
    at,
    `text ${at} \u{1f600}`,
    at % 3 === 0 ? null : at % 3 === 1 ? '' : `ü${at}`,
    at % 2 === 0 ? at / 7 : Number.NaN,
    at % 5 === 0 ? null : { at },
    at % 4 === 0 ? 9007199254740993n + BigInt(at) : at,
    at === 700 ? 'x'.repeat(5_000_000) : 'same',
  ])
  const model = new GridModel(columns)
  // In pieces of other sizes than the blocks.
  for (let at = 0; at < rows.length; at += 700) model.append(rows.slice(at, at + 700))
  assert.equal(model.total, rows.length)
  for (const [at, row] of rows.entries()) assert.deepEqual(model.row(at), row)
  assert.equal(model.row(1000), model.row(1000), 'what is in view is not drawn again')
  assert.deepEqual(model.row(3000), [])
  const after = [1, 'changed', 'b', 1, null, 1, 'same']
  for (const at of [2, 2999]) model.replace(model.row(at), after)
  assert.equal(model.row(2), after)
  assert.equal(model.row(2999), after)
  assert.ok(model.lastChange(model.row(2))?.columns.includes(1))
  model.setFilter(1, 'changed')
  assert.deepEqual(await settled(model), [1, 1])
  model.clearFilters()
  model.setSort({ column: 1, descending: true })
  assert.deepEqual((await settled(model)).slice(0, 2), [999, 998])
  // Becoming live, they are a list.
  model.setSort(undefined)
  model.put('a', [-1], 0)
  assert.deepEqual((await settled(model)).slice(0, 3), [-1, 0, 1])
  assert.equal(model.total, rows.length + 1)
})

test('live rows are replaced, moved and removed by key; what is different is noted', async () => {
  const model = new GridModel([
    { name: 'k', type: 'Text' },
    { name: 'n', type: 'Integer' },
  ])
  for (const [index, key] of ['a', 'b', 'c'].entries()) model.put(key, [key, index])
  const row = ['b', 9]
  model.put('b', row, 0)
  model.remove('a')
  model.put('d', ['d', 4], 1)
  assert.deepEqual(await settled(model), ['b', 'd', 'c'])
  assert.deepEqual(model.lastChange(row)?.columns, [1])
  model.setSort({ column: 1, descending: false })
  assert.deepEqual(await settled(model), ['c', 'd', 'b'])
  model.put('c', ['c', 99])
  assert.deepEqual(await settled(model), ['d', 'b', 'c'])
  model.clear()
  assert.deepEqual(await settled(model), [])
})

test('a large sort is done in slices: other work gets its turn meanwhile', async () => {
  const size = 200_000
  const model = one(
    'Integer',
    Array.from({ length: size }, (_, index) => (index * 7919) % size),
  )
  model.setSort({ column: 0, descending: false })
  // It is set only when a slice ends before the work does, and others run.
  let slices = 0
  const end = model.version.subscribe(() => {
    if (model.arranging.peek()) slices++
  })
  const values = await settled(model)
  end()
  assert.ok(slices > 3, `${slices} slices`)
  assert.ok(values.every((value, index) => value === index))
})

test('copies are exact: TSV for spreadsheets, CSV with NULL apart from the empty text, JSON with all digits', () => {
  const model = createModel(
    [
      { name: 'id', type: 'Integer' },
      { name: 'note', type: 'Text' },
      { name: 'data', type: 'Json' },
    ],
    [
      [9223372036854775807n, 'a "b"\tc', { x: [1] }],
      [1, '', null],
    ],
  )
  assert.equal(rowsAs(model, 'tsv'), '9223372036854775807\t"a ""b""\tc"\t"{""x"":[1]}"\n1\t\t')
  assert.equal(rowsAs(model, 'csv'), 'id,note,data\r\n9223372036854775807,"a ""b""\tc","{""x"":[1]}"\r\n1,"",\r\n')
  assert.equal(
    rowsAs(model, 'json'),
    '[{"id":9223372036854775807,"note":"a \\"b\\"\\tc","data":{"x":[1]}},\n{"id":1,"note":"","data":null}]\n',
  )
  assert.equal(rowsAs(model, 'tsv', { top: 1, bottom: 1, columns: [0] }), '1')
})

test('ids have no separators for thousands, whatever they are called, and quantities and bids have', () => {
  const shown = (name: string) => shownText(199807, { name, type: 'Integer' })
  for (const name of ['id', 'trade_id', 'TradeId', 'orderID', 'tradeid']) assert.equal(shown(name), '199807', name)
  assert.equal(shownText(199807, { name: 'account', type: 'Integer', isprimarykey: true }), '199807')
  for (const name of ['quantity', 'bid', 'mid', 'paid', 'BID', 'Mid']) assert.equal(shown(name), '199,807', name)
})
