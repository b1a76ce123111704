/** The description of the query service in /openapi.json is correct: routes, parameters and errors. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { describeQuery } from '../../packages/server/src/query/http/openapi.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type CallOptions, type QueryServer, startQueryServer } from './query-server.ts'

const ROUTES = describeQuery()

/** A call of each kind with its expected status; the body of a Select is optional. */
const CRITERION = [{ ColumnName: 'id', Operator: '=', Value: 1 }]
const GOOD: Readonly<Record<string, unknown>> = {
  '/query': { Statement: 'SELECT 1 AS x' },
  '/Query/{TableName}/Select': undefined,
  '/Query/{TableName}/Insert': { id: 1 },
  '/Query/{TableName}/Update': { Criteria: CRITERION, Assignments: { v: 'x' } },
  '/Query/{TableName}/Delete': CRITERION,
}

onEveryEngineInLongRuns('the description of the query service', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { limits: { bodyBytes: 100_000 } })
    assert.equal((await server.query('CREATE TABLE t (id Integer PRIMARY KEY, v Text)')).status, 200)
  })
  after(() => server.stop())

  const described = ROUTES.filter(({ method }) => method === 'POST')
  const send = (path: string, body: unknown, options: CallOptions = {}, table = 't') =>
    server.call(path.replace('{TableName}', table), body, options)

  test('every route exists and accepts the parameters that it lists', async () => {
    assert.deepEqual(
      described.map(({ path }) => path),
      Object.keys(GOOD),
    )
    for (const { path, parameters = [], mayLackBody } of described) {
      const names = parameters.filter(({ in: where }) => where === 'query').map(({ name }) => name)
      const values: Readonly<Record<string, string>> = {
        rows: 'arrays',
        integers: 'strings',
        header: 'columns',
        writes: 'refused',
        columns: 'id',
        column: 'v',
        orderby: '-id',
        limit: '5',
        offset: '0',
        maxrate: '5',
      }
      const query = names.filter((name) => name !== 'after').map((name) => `${name}=${values[name]}`)
      const reply = await send(`${path}?${query.join('&')}`, GOOD[path])
      assert.equal(reply.status, 200, `${path}: ${reply.text}`)
      assert.equal(mayLackBody === true, (await send(path, undefined)).status === 200, `${path} without a body`)
      if (names.includes('rows')) assert.equal((await send(`${path}?rows=sideways`, GOOD[path])).status, 400, path)
      if (names.includes('integers')) assert.equal((await send(`${path}?integers=x`, GOOD[path])).status, 400, path)
    }
    const missing = await server.call('/query/none', undefined, { method: 'DELETE' })
    assert.equal(missing.status, 404)
  })

  test('every error that a wrong call can cause is listed, and occurs as listed', async () => {
    for (const { path, replies } of described) {
      const body = GOOD[path] ?? []
      const wrong: readonly (readonly [number, () => Promise<{ status: number }>])[] = [
        [400, () => send(path, '{')],
        [401, () => send(path, body, { as: 'stranger' })],
        [403, () => send(path, body, { as: 'nobody' })],
        [406, () => send(path, body, { headers: { accept: 'image/png' } })],
        [413, () => send(path, `"${'x'.repeat(300_000)}"`)],
        [415, () => send(path, JSON.stringify(body), { headers: { 'content-type': 'application/xml' } })],
        ...(path.includes('{TableName}') ? ([[404, () => send(path, body, {}, 'none')]] as const) : []),
      ]
      for (const [status, call] of wrong) {
        assert.equal((await call()).status, status, path)
        assert.ok(status in replies, `${path} does not list ${status}`)
      }
    }
  })
})
