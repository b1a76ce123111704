/**
 * The statements that compare the two engines (../agree/), over tables with columns and without: the answers are the same, errors too.
 * `BATCHES=1000` runs longer; another `SEED` runs others.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { printExpression } from 'gatehouse-iql'
import { IS_LONG_RUN } from '../../support/engines.ts'
import { Choice } from '../agree/choice.ts'
import { COLUMNS, makeRows } from '../agree/data.ts'
import { openEngine } from '../agree/engines.ts'
import { Expressions } from '../agree/expressions.ts'
import { Queries } from '../agree/queries.ts'
import { print } from '../iql/print.ts'
import { BY_THE_TEST, writeSegments } from './written-segments.ts'

const SEED = Number(process.env.SEED ?? 20_261_119)
const BATCHES = Number(process.env.BATCHES ?? (IS_LONG_RUN ? 40 : 2))
const STATEMENTS = 40
const ROWS = { a: 41, b: 23 }
const SEGMENT_ROWS = 7
/** Segments of 7 rows, with as many after the last one. */
const SEGMENTS = 4 + 2

type Opened = Awaited<ReturnType<typeof openEngine>>

let rows: Opened
let columns: Opened
before(async () => {
  rows = await openEngine('sqlite')
  columns = await openEngine('sqlite', { options: ' WITH (columns = on)', columnTiming: BY_THE_TEST })
})
after(async () => {
  await rows.leave()
  await columns.leave()
})

test('random statements have the same answers over tables with columns', async () => {
  let [asked, read] = [0, 0]
  for (let seed = SEED; seed < SEED + BATCHES; seed++) {
    const choice = new Choice(seed)
    const isTame = seed % 3 !== 0
    await load(choice, isTame)
    const expressions = new Expressions(choice, isTame)
    const queries = new Queries(expressions)
    for (let made = 0; made < STATEMENTS; made++) {
      const text = choice.oneIn(4) ? print(queries.query()) : makeGrouping(choice, expressions)
      const [expected, given] = await Promise.all([rows.ask(text), columns.ask(text)])
      assert.deepEqual(given, expected, `seed ${seed}: ${text}`)
      asked++
      if (await readsSegments(text)) read++
    }
  }
  assert.ok(read > asked / 6, `${read} of ${asked} read segments`)
})

async function readsSegments(text: string): Promise<boolean> {
  const { rows: lines } = await columns.ask(`EXPLAIN ${text}`)
  return lines.some((line) => /columns: \d+ segment/.test(line))
}

const NUMBERS = ['id', 'k', 'i', 'd', 's', 'f', 'w', 'x', 'y'] as const
const SOURCE = { alias: 'r', columns: COLUMNS }
const STORED = [...NUMBERS, 'ok', 't', 'u', 'ts', 'at', 'dt', 'tm', 'g'] as const

/** A grouping by columns, of columns: most can be computed from segments. */
function makeGrouping(choice: Choice, expressions: Expressions): string {
  const column = (): string => choice.of(STORED)
  const value = (): string => choice.of(NUMBERS)
  const keys = choice.list(0, 2, () => choice.of([column(), "date_trunc('month', ts)", 'upper(t)', "t || 'x'", 'k']))
  const calls = choice.list(1, 3, () =>
    choice.of([
      'count(*)',
      `count(${column()})`,
      `count(DISTINCT ${column()})`,
      `sum(${value()})`,
      `avg(${value()})`,
      `min(${column()})`,
      `max(${column()})`,
      `first(${column()}, ${column()})`,
      `last(${column()}, ${column()})`,
      `median(${value()})`,
      `percentile_cont(${choice.of(['0', '0.3', '1'])}, ${value()})`,
      `percentile_disc(${choice.of(['0', '0.5', '0.99'])}, ${value()})`,
      `${choice.of(['variance', 'stddev', 'var_pop', 'stddev_pop'])}(${value()})`,
      `vwap(${value()}, ${value()})`,
      `sum(${value()} * ${value()})`,
      `sum(${value()} - ${value()})`,
      'bool_and(ok)',
      'bool_or(ok)',
    ]),
  )
  const condition = (): string => {
    const compared = `${value()} ${choice.of(['=', '<>', '<', '<=', '>', '>='])} ${choice.of(['0', '1', '-1', '2.5'])}`
    return choice.oneIn(3)
      ? printExpression(expressions.make('Boolean', { sources: [SOURCE] }, 1))
      : choice.of([compared, `${column()} IS NOT NULL`, "t LIKE '%a%'"])
  }
  const filtered = calls.map((call) => (choice.oneIn(4) ? `${call} FILTER (WHERE ${condition()})` : call))
  const items = [...keys, ...filtered].map((item, index) => `${item} AS c${index}`)
  const where = choice.oneIn(3) ? ` WHERE ${condition()}` : ''
  const group = keys.length === 0 ? '' : ` GROUP BY ${keys.join(', ')}`
  const having = choice.oneIn(6) ? ' HAVING count(*) > 1' : ''
  return `SELECT ${items.join(', ')} FROM ${choice.of(['a', 'b', 'filtered'])} AS r${where}${group}${having}`
}

/** In a third of the batches two segments are marked. */
async function load(choice: Choice, isTame: boolean): Promise<void> {
  const [a, b] = [makeRows(choice, ROWS.a, isTame), makeRows(choice, ROWS.b, isTame)]
  await rows.load(a, b)
  await columns.load(a, b)
  assert.equal(writeSegments(columns.dataFolder, SEGMENT_ROWS), SEGMENTS)
  if (!choice.oneIn(3)) return
  for (const { server } of [rows, columns]) {
    const { status, text } = await server.query('UPDATE a SET t = u WHERE id IN (3, 17)')
    assert.equal(status, 200, text)
  }
}
