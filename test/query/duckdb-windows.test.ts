/** Windows as DuckDB has them: frames by rows and by distances, named windows, ranks, neighbours. */
import { after, before, type TestContext, test } from 'node:test'
import { inLongRuns } from '../support/engines.ts'
import { Choice } from './agree/choice.ts'
import { MISSING, type Oracle, openOracle } from './duckdb.ts'

const AGGREGATES = [
  'count(*)',
  'sum(n)',
  'min(n)',
  'max(id)',
  'count(n)',
  'min(p)',
  'sum(p)',
  'count(p) FILTER (WHERE n > 0)',
]
const RANKS = ['percent_rank()', 'cume_dist()', 'rank()', 'dense_rank()']
/** With an order that has no ties. */
const PLACES = [
  'row_number()',
  'ntile(4)',
  'ntile(300)',
  'lag(n)',
  'lag(p, 3)',
  'lag(n, 2, -1)',
  'lead(n)',
  'lead(k, 5, id)',
  'first_value(n)',
  'last_value(p)',
  'nth_value(n, 3)',
]
const STATISTICS = ['avg(n)', 'avg(p)', 'sum(f)', 'stddev(n)', 'var_pop(p)', 'covar_pop(n, p)', 'regr_slope(p, n)']
const STATEMENTS = 80

inLongRuns('windows as in DuckDB', (place) => {
  let oracle: Oracle | undefined
  before(async () => {
    oracle = await openOracle(place(), 20_261_118)
  })
  after(() => oracle?.server.stop())

  const compare = async (
    context: TestContext,
    seed: number,
    listItems: (choice: Choice) => string[],
    closeness = 0,
  ) => {
    if (oracle === undefined) return context.skip(MISSING)
    const choice = new Choice(seed)
    for (let made = 0; made < STATEMENTS; made++) {
      const items = listItems(choice).map((item, index) => `${item} AS c${index}`)
      const order = `${choice.of(['n', 'ts', 'd', 'p'])} ${choice.of(['ASC', 'DESC'])} NULLS ${choice.of(['FIRST', 'LAST'])}`
      const statement = `SELECT id, ${items.join(', ')} FROM w WINDOW base AS (PARTITION BY s ORDER BY ${order}) ORDER BY id`
      await oracle.assertSame(statement, { closeness })
    }
  }

  test('frames by distances, and ranks', (context) =>
    compare(context, 7, (choice) => [
      ...AGGREGATES.map((name) => `${name} OVER ${rangeWindow(choice)}`),
      ...RANKS.map((name) => `${name} OVER base`),
    ]))

  test('frames by rows, and neighbours', (context) =>
    compare(context, 8, (choice) => [
      ...AGGREGATES.map((name) => `${name} OVER ${rowsWindow(choice)}`),
      ...PLACES.map((name) => `${name} OVER ${/value/.test(name) ? rowsWindow(choice) : totalWindow(choice)}`),
    ]))

  test('statistics of frames', (context) =>
    compare(
      context,
      9,
      (choice) =>
        STATISTICS.map((name) => `${name} OVER ${choice.oneIn(2) ? rowsWindow(choice) : rangeWindow(choice)}`),
      1e-9,
    ))
})

function rangeWindow(choice: Choice): string {
  const key = choice.of(['n', 'ts', 'd'] as const)
  const times = ['0 seconds', '90 seconds', '5 minutes', '1 day'].map((text) => `INTERVAL '${text}'`)
  const days = ['0 days', '1 day', '2 days'].map((text) => `INTERVAL '${text}'`)
  const distances = { n: NUMBERS, ts: times, d: days }[key]
  const order = `ORDER BY ${key} ${choice.of(['ASC', 'DESC'])} NULLS ${choice.of(['FIRST', 'LAST'])}`
  return `(${choice.of(['', 'PARTITION BY s '])}${order} RANGE ${frame(choice, distances)})`
}

function rowsWindow(choice: Choice): string {
  return totalWindow(choice).replace(/\)$/, ` ROWS ${frame(choice, NUMBERS)})`)
}

function totalWindow(choice: Choice): string {
  const key = choice.of(['n', 'ts', 'p', 'f'])
  const order = `ORDER BY ${key} ${choice.of(['ASC', 'DESC'])} NULLS ${choice.of(['FIRST', 'LAST'])}, id`
  return `(${choice.of(['', 'PARTITION BY s '])}${order})`
}

const NUMBERS = ['0', '1', '2', '3', '5', '8', '13']

/** `distances` are in their order: a frame that ends before it starts is refused. */
function frame(choice: Choice, distances: readonly string[]): string {
  const distance = (): string => choice.of(distances)
  const far = 1 + choice.below(distances.length - 1)
  const near = choice.below(far + 1)
  if (choice.oneIn(6)) return choice.of(['UNBOUNDED PRECEDING', `${distance()} PRECEDING`, 'CURRENT ROW'])
  // Both ends may be on the same side.
  const side = choice.below(4)
  if (side === 0) return `BETWEEN ${distances[far]} PRECEDING AND ${distances[near]} PRECEDING`
  if (side === 1) return `BETWEEN ${distances[near]} FOLLOWING AND ${distances[far]} FOLLOWING`
  const start = choice.of(['UNBOUNDED PRECEDING', `${distance()} PRECEDING`, 'CURRENT ROW'])
  const end = choice.of(['CURRENT ROW', `${distance()} FOLLOWING`, 'UNBOUNDED FOLLOWING'])
  return `BETWEEN ${start} AND ${end}`
}
