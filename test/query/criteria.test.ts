/** Selection criteria: every operator in every spelling, groups, nulls, and errors that list what is valid. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { OPERATORS } from '../../packages/server/src/query/http/criteria.ts'
import { onEveryEngine } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const ROWS = [
  { id: 1, t: 'Alpha', n: 10 },
  { id: 2, t: 'alpha', n: 20 },
  { id: 3, t: 'be%ta', n: null },
  { id: 4, t: null, n: 30 },
]

/** The column, the operator and its other spellings, the value, the rows that match. */
const CASES: readonly (readonly [string, readonly string[], unknown, readonly number[]])[] = [
  ['n', ['=', '==', 'eq', 'EQ', ' = '], 20, [2]],
  ['n', ['<>', '!=', 'ne', 'Ne'], 20, [1, 4]],
  ['n', ['<', 'lt'], 20, [1]],
  ['n', ['<=', 'le', 'lte', 'LTE'], 20, [1, 2]],
  ['n', ['>', 'gt'], 20, [4]],
  ['n', ['>=', 'ge', 'gte'], 20, [2, 4]],
  ['n', ['in', 'IN'], [10, 30, 99], [1, 4]],
  ['n', ['in'], [], []],
  ['n', ['in'], [10, null], 'Criteria.BadNull' as never],
  ['n', ['not in', 'NOT  IN'], [10, 99], [2, 4]],
  ['n', ['not in'], [], [1, 2, 3, 4]],
  ['n', ['between', 'Between'], [10, 20], [1, 2]],
  ['n', ['between'], [20, 10], []],
  ['n', ['not between'], [10, 20], [4]],
  ['t', ['like', 'LIKE'], 'Al%', [1]],
  ['t', ['like'], '_lpha', [1, 2]],
  ['t', ['not like'], 'Al%', [2, 3]],
  ['t', ['ilike', 'ILike'], 'AL%', [1, 2]],
  ['t', ['not ilike'], 'AL%', [3]],
  ['t', ['contains', 'Contains'], 'lph', [1, 2]],
  ['t', ['contains'], '%', [3]],
  ['t', ['startswith', 'StartsWith'], 'al', [2]],
  ['t', ['endswith'], 'ta', [3]],
  ['t', ['is null', 'IS NULL'], undefined, [4]],
  ['t', ['is not null', 'is  not  null'], undefined, [1, 2, 3]],
  ['t', ['='], null, [4]],
  ['n', ['<>'], null, [1, 2, 4]],
]

const on = (ColumnName: string, Operator: string, Value?: unknown) =>
  Value === undefined ? { ColumnName, Operator } : { ColumnName, Operator, Value }

onEveryEngine('criteria', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    assert.equal((await server.query('CREATE TABLE c (id Integer PRIMARY KEY, t Text, n Integer)')).status, 200)
    assert.equal((await server.call('/query/c/insert', ROWS)).status, 200)
  })
  after(() => server.stop())

  const ids = async (body: unknown): Promise<unknown[]> => {
    const reply = await server.call('/query/c/select?columns=id&orderby=id', body)
    assert.equal(reply.status, 200, `${JSON.stringify(body)}: ${reply.text}`)
    return reply.json.Rows.map(({ id }) => id)
  }
  const refused = async (body: unknown) => {
    const { status, json } = await server.call('/query/c/select', body)
    return { status, ...json }
  }

  test('each operator in each of its spellings, case-insensitively', async () => {
    for (const [column, operators, value, wanted] of CASES) {
      for (const operator of operators) {
        if (!Array.isArray(wanted)) assert.equal((await refused([on(column, operator, value)])).Code, wanted)
        else assert.deepEqual(await ids([on(column, operator, value)]), wanted, `${column} ${operator} ${value}`)
      }
    }
    const tried = new Set(CASES.flatMap(([, operators]) => operators.map((name) => name.toLowerCase())))
    const missed = OPERATORS.flatMap(({ names }) => names).filter((name) => !tried.has(name))
    assert.deepEqual(missed, [], 'every operator of the table has a case here')
  })

  test('criteria are ANDed; Or, And and Not nest', async () => {
    assert.deepEqual(await ids([on('n', '>', 5), on('n', '<', 25)]), [1, 2])
    assert.deepEqual(await ids([{ Or: [on('n', '=', 10), on('t', 'is null')] }]), [1, 4])
    assert.deepEqual(await ids([{ or: [{ AND: [on('n', '>', 5), on('n', '<', 15)] }, on('id', '=', 3)] }]), [1, 3])
    assert.deepEqual(await ids([{ Not: on('n', '=', 10) }]), [2, 4], 'not of unknown is unknown')
    assert.deepEqual(await ids([{ Not: { Or: [on('id', '=', 1), on('id', '=', 2)] } }]), [3, 4])
    assert.deepEqual([await ids([{ Or: [] }]), await ids([{ And: [] }])], [[], [1, 2, 3, 4]])
    assert.deepEqual(
      [await ids([]), await ids(undefined)],
      [
        [1, 2, 3, 4],
        [1, 2, 3, 4],
      ],
    )
  })

  test('null with another operator, or among the values of in, not in and between, is 400', async () => {
    for (const criterion of [
      ...['<', '<=', '>', '>=', 'like', 'ilike', 'contains', 'startswith', 'endswith'].map((operator) =>
        on(operator === 'contains' || operator.endsWith('ke') || operator.endsWith('with') ? 't' : 'n', operator, null),
      ),
      on('n', 'not in', [10, null]),
      on('n', 'between', [null, 10]),
    ]) {
      const { status, Code } = await refused([criterion])
      assert.deepEqual([status, Code], [400, 'Criteria.BadNull'], JSON.stringify(criterion))
    }
  })

  test('criteria of the wrong shape are 400', async () => {
    for (const body of [
      {},
      'null',
      [1],
      [on('n', '=')],
      [on('n', 'between', [1])],
      [on('n', 'between', [1, 2, 3])],
      [on('n', 'in', 10)],
      [{ ColumnName: 'n', Operator: '=', Value: 10, Extra: 1 }],
      [{ Or: on('n', '=', 1) }],
      [{ Operator: '=', Value: 10 }],
      [{ ColumnName: 'n', Value: 10 }],
      [{ ColumnName: 'n', columnname: 'id', Operator: '=', Value: 10 }],
    ]) {
      const { status, Code } = await refused(body)
      assert.equal(status, 400, `${JSON.stringify(body)} ${Code}`)
    }
    const { Expected } = await refused([on('n', 'resembles', 1)])
    assert.deepEqual(
      Expected,
      OPERATORS.map(({ names }) => names[0]),
    )
  })

  test('values are typed by the column, not by their JSON form', async () => {
    assert.deepEqual([await ids([on('n', '=', '20')]), await ids([on('t', '=', 20)])], [[2], []])
    const wrong = await refused([on('n', '=', 'twenty')])
    assert.deepEqual([wrong.status, wrong.Code], [422, 'Data.BadValue'])
  })

  test('Update and Delete take the same criteria and need one', async () => {
    for (const [path, body] of [
      ['update', { Criteria: [], Assignments: { n: 1 } }],
      ['update', { Assignments: { n: 1 } }],
      ['delete', []],
      ['delete', { Criteria: [] }],
      ['delete', undefined],
    ] as const) {
      assert.equal((await server.call(`/query/c/${path}`, body)).status, 400, path)
    }
    assert.deepEqual(await ids([]), [1, 2, 3, 4])
    const updated = await server.call('/query/c/update', { Criteria: [on('n', '>', 15)], Assignments: { T: 'x' } })
    assert.deepEqual([updated.status, updated.json.RowsAffected], [200, 2])
    assert.deepEqual(await ids([on('t', '=', 'x')]), [2, 4])
    const gone = await server.call('/query/c/delete', [on('t', '=', 'x')])
    assert.deepEqual([gone.status, gone.json.RowsAffected, await ids([])], [200, 2, [1, 3]])
  })
})
