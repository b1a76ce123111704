/** Groups of an ASOF JOIN over column segments: the same as from rows, whichever segments of either table are marked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Choice } from '../agree/choice.ts'
import { makeRanges, makeRows } from './random-statements.ts'
import { type Row, SegmentedTable } from './segmented-table.ts'

const SEED = Number(process.env.SEED ?? 71)
const ROUNDS = Number(process.env.ROUNDS ?? 6)
const STATEMENTS = Number(process.env.STATEMENTS ?? 25)

const ids = (rows: readonly Row[]): bigint[] => rows.map(({ id }) => id as bigint)

test('these statements are read from segments alone: rows that are gone are in their answers', () => {
  const [rows, others] = [makeRows(new Choice(20), 300, true), makeRows(new Choice(20), 200, true)]
  const make = (): SegmentedTable => {
    const table = new SegmentedTable(rows, others)
    const [first, last] = [ids(rows)[0] as bigint, ids(rows).at(-1) as bigint]
    const middle = ids(rows)[150] as bigint
    table.build([
      { first, last: middle - 1n },
      { first: middle, last },
    ])
    table.build([{ first: ids(others)[0] as bigint, last: ids(others).at(-1) as bigint }], 'others')
    return table
  }
  const [whole, emptied] = [make(), make()]
  try {
    emptied.database.exec('DELETE FROM rows WHERE id NOT IN (SELECT min(id) FROM rows UNION SELECT max(id) FROM rows)')
    emptied.database.exec('DELETE FROM others')
    for (const statement of [
      'SELECT count(*) AS n, sum(a.p - b.p) AS s, sum(a.d + b.d) AS t FROM rows AS a ASOF JOIN others AS b ON a.t = b.t AND a.ts >= b.ts',
      'SELECT a.k, count(b.id) AS n, avg(b.p) AS s, max(b.k) AS h FROM rows AS a ASOF LEFT JOIN others AS b ON a.t = b.t AND a.ts > b.ts GROUP BY a.k',
      'SELECT b.k, min(b.ts) AS n, last(b.t, a.ts) AS s FROM rows AS a ASOF JOIN others AS b ON a.n = b.n AND a.ts <= b.ts WHERE a.p > 1 GROUP BY b.k',
      'SELECT b.ok, count(*) AS n, median(b.i) AS m FROM rows AS a ASOF JOIN others AS b ON a.i < b.i GROUP BY b.ok',
    ]) {
      const { rows: read, error, isOfParts } = emptied.parts(statement)
      const usual = whole.usual(statement)
      assert.deepEqual(
        { rows: read, error, isOfParts },
        { rows: usual.rows, error: undefined, isOfParts: true },
        statement,
      )
      assert.ok((read ?? []).length > 0)
    }
  } finally {
    whole.close()
    emptied.close()
  }
})

test('statements over segments of two tables have the answers of the rows', () => {
  let [used, all] = [0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    const choice = new Choice(SEED + round)
    const [rows, others] = [0, 1].map(() => makeRows(choice, 20 + choice.below(200), round % 3 !== 2))
    const table = new SegmentedTable(rows ?? [], others)
    try {
      table.build(makeRanges(choice, ids(rows ?? [])))
      table.build(makeRanges(choice, ids(others ?? [])), 'others')
      for (let index = 0; index < STATEMENTS; index++) {
        const statement = makeJoin(choice)
        const usual = table.usual(statement)
        if (usual.isRefused) continue
        const marked = choice.of([0, 30, 100])
        const heldBytes = choice.of([192_000_000, 60_000])
        const mergedGroups = choice.of([2048, 0])
        const { isOfParts, opened, ...answer } = table.parts(
          statement,
          () => choice.below(100) >= marked,
          {},
          { heldBytes, mergedGroups },
        )
        assert.deepEqual(answer, usual, `seed ${SEED + round}, ${marked} % marked: ${statement}`)
        all++
        if (isOfParts && (opened ?? 0) > 0) used++
      }
    } finally {
      table.close()
    }
  }
  assert.ok(used > all / 4, `${used} of ${all} read segments`)
})

function makeJoin(choice: Choice): string {
  const key = choice.of([
    'a.k = b.k AND ',
    'a.t = b.t AND ',
    'a.n = b.n AND ',
    'a.g = b.g AND ',
    'a.i = b.i AND ',
    'a.n = b.n AND a.t = b.t AND ',
    '',
  ])
  const near = choice.of(['ts', 'ts', 'ts', 'i', 'id', 'dt', 'p', 'x'])
  const operator = choice.of(['>=', '>', '<=', '<'])
  const side = (): string => choice.of(['a', 'b'])
  const value = (): string => `${side()}.${choice.of(['p', 'd', 'i', 'n', 'k', 't', 'ts', 'dt', 'ok', 'w', 'x'])}`
  const aggregate = (): string =>
    choice.of([
      'count(*)',
      `count(${value()})`,
      `sum(${side()}.p ${choice.of(['-', '+'])} ${side()}.p)`,
      `sum(${side()}.d - ${side()}.d)`,
      `sum(${side()}.${choice.of(['p', 'd', 'n', 'i'])})`,
      `min(${value()})`,
      `max(${value()})`,
      `first(${value()}, ${value()})`,
      `last(${value()}, ${value()})`,
      `count(DISTINCT ${value()})`,
      `median(${side()}.p)`,
      `vwap(${side()}.p, ${side()}.n)`,
    ]) +
    (choice.oneIn(5) ? ` FILTER (WHERE ${side()}.${choice.of(["k = 'a'", 'p > 1.25', 'ok', 'ts IS NOT NULL'])})` : '')
  const keys = choice.list(0, 2, () => `${side()}.${choice.of(['k', 't', 'n', 'ok', 'dt'])}`)
  const outputs = [...keys, ...choice.list(1, 3, aggregate)].map((output, index) => `${output} AS c${index}`)
  const where = choice.oneIn(2)
    ? ''
    : ` WHERE ${choice.of(["a.k <> 'a'", 'a.p > 1', 'a.n IN (1, 2)', 'a.ts IS NOT NULL', 'b.p > 1', 'a.id > 5'])}`
  const [left, right] = [choice.of(['rows', 'rows', 'filtered']), choice.of(['others', 'others', 'filtered_others'])]
  const grouped = keys.length === 0 ? '' : ` GROUP BY ${[...new Set(keys)].join(', ')}`
  return `SELECT ${outputs.join(', ')} FROM ${left} AS a ASOF ${choice.of(['', 'LEFT '])}JOIN ${right} AS b ON ${key}a.${near} ${operator} b.${near}${where}${grouped}`
}
