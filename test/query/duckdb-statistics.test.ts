/** Statistics of groups as DuckDB has them: variances, covariances, regression, percentiles. DuckDB computes with doubles, so not to the last digit. */
import { after, before, test } from 'node:test'
import { inLongRuns } from '../support/engines.ts'
import { Choice } from './agree/choice.ts'
import { MISSING, type Oracle, openOracle } from './duckdb.ts'

const ONE = ['avg', 'variance', 'stddev', 'var_pop', 'stddev_pop', 'median', 'sum', 'min', 'max']
const TWO = ['corr', 'covar_pop', 'covar_samp', 'regr_slope', 'regr_intercept', 'regr_r2']
const STATEMENTS = 100
const CLOSENESS = 1e-8

inLongRuns('statistics as in DuckDB', (place) => {
  let oracle: Oracle | undefined
  before(async () => {
    oracle = await openOracle(place(), 20_261_119, 'DOUBLE')
  })
  after(() => oracle?.server.stop())

  test('random statements have the same values', async (context) => {
    if (oracle === undefined) return context.skip(MISSING)
    const choice = new Choice(11)
    const column = (): string => choice.of(['n', 'k', 'p', 'f', 'n + k', 'p * 2'])
    for (let made = 0; made < STATEMENTS; made++) {
      const fraction = choice.of(['0', '0.1', '0.25', '0.5', '0.9', '0.999', '1'])
      const filter = choice.oneIn(4) ? ` FILTER (WHERE id % ${2 + choice.below(4)} = 0)` : ''
      const items = [
        ...ONE.map((name) => `${name}(${column()})${filter}`),
        ...TWO.map((name) => `${name}(${column()}, ${column()})${filter}`),
        `percentile_cont(${fraction}) WITHIN GROUP (ORDER BY ${column()})${filter}`,
        `percentile_disc(${fraction}) WITHIN GROUP (ORDER BY ${column()})${filter}`,
        `count(DISTINCT ${choice.of(['n', 's', 'd', 'p'])})${filter}`,
      ].map((item, index) => `${item} AS c${index}`)
      const group = choice.of(['s', 'd', 'id % 7', 'id / 10'])
      const where = choice.oneIn(3) ? ` WHERE id < ${choice.below(200)}` : ''
      const statement = `SELECT min(id) AS first, ${items.join(', ')} FROM w${where} GROUP BY ${group} ORDER BY first`
      await oracle.assertSame(statement, { closeness: CLOSENESS, duckdb: statement.replaceAll('id / 10', 'id // 10') })
    }
  })
})
