/** Bodies within the size limit, of any shape: none holds the event loop for more than 100 ms. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { IS_LONG_RUN, onEveryEngineInLongRuns } from '../support/engines.ts'
import { longestTurn } from './event-loop.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

const BODY_BYTES = 8 * 1024 * 1024
const NAMES = Array.from({ length: 60 }, (_, index) => `c${index}`)

const filled = (start: string, item: string, end: string): string => {
  const count = Math.floor((BODY_BYTES - start.length - end.length) / item.length)
  return `${start}${item.repeat(count)}`.replace(/,$/, '') + end
}
const requireList = (count: number, item: (index: number) => unknown): string =>
  JSON.stringify(Array.from({ length: count }, (_, index) => item(index)))
const criterion = (Value: unknown, Operator = 'in') => ({ ColumnName: 'id', Operator, Value })
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

/** The call, what its body is, and the body. */
const BODIES: readonly (readonly [string, string, () => string])[] = [
  ['select', 'a thousand lists of values', () => requireList(150, () => criterion(numbers(10_000)))],
  [
    'select',
    'lists of values in groups',
    () => requireList(30, () => ({ Or: [criterion(numbers(9000)), criterion([1])] })),
  ],
  ['select', 'as many values as are allowed', () => requireList(1, () => criterion(numbers(10_000)))],
  ['select', 'as many criteria as are allowed', () => requireList(999, (index) => criterion(index, '='))],
  ['select', 'many criteria', () => requireList(100_000, () => criterion(1, '='))],
  ['select', 'empty objects', () => filled('[', '{},', ']')],
  ['select', 'empty arrays', () => filled('[', '[],', ']')],
  ['select', 'nested groups', () => filled('[', `${'{"And":['.repeat(30)}${']}'.repeat(30)},`, ']')],
  ['select', 'nested arrays', () => filled('[', `${'['.repeat(400)}${']'.repeat(400)},`, ']')],
  ['select', 'numbers', () => filled('[', '1,', ']')],
  ['select', 'numbers with exponents', () => filled('[', '1e5,', ']')],
  ['select', 'a long number', () => filled('[', '1', ']')],
  ['select', 'a long operator', () => filled('[{"ColumnName":"id","Operator":"', ' x', '","Value":1}]')],
  ['select', 'a long name', () => filled('[{"ColumnName":"', 'x', '","Operator":"=","Value":1}]')],
  [
    'select',
    'many members',
    () =>
      `[{${numbers(500_000)
        .map((index) => `"m${index}":1`)
        .join(',')}}]`,
  ],
  ['select', 'backslashes', () => filled('[{"ColumnName":"t","Operator":"=","Value":"', '\\\\', '"}]')],
  ['select', 'a long pattern', () => filled('[{"ColumnName":"t","Operator":"like","Value":"', '%a', '"}]')],
  ['select', 'not JSON', () => filled('', '"', '')],
  ['insert', 'small rows', () => filled('[', '{"id":1},', ']')],
  ['insert', 'as many small rows as are allowed', () => requireList(33_000, (id) => ({ id: id + 1000, t: 'x' }))],
  [
    'insert',
    'rows with different columns',
    () =>
      requireList(20_000, (id) => ({ id, [`c${id % 60}`]: 1, [`c${(id * 7) % 60}`]: 1, [`c${(id * 13) % 60}`]: 1 })),
  ],
  [
    'insert',
    'rows with columns in different orders',
    () =>
      requireList(1500, (id) =>
        Object.fromEntries([...NAMES.slice(id % 60), ...NAMES.slice(0, id % 60)].map((name) => [name, null])),
      ),
  ],
  ['insert', 'one long text', () => filled('{"id":-1,"t":"', 'x', '"}')],
  ['insert', 'one long Binary', () => filled('{"id":-2,"b":"', 'AAAA', '"}')],
  ['insert', 'one long Json', () => filled('{"id":-3,"j":["', 'x', '"]}')],
  ['insert', 'a Json of backslashes', () => filled('{"id":-7,"j":"', '\\\\', '"}')],
  ['insert', 'a Json of quotes', () => filled('{"id":-8,"j":"', '\\"', '"}')],
  [
    'insert',
    'numbers that keep their digits',
    () =>
      requireList(20_000, (id) => ({ id, p: 'P', j: 'N' }))
        .replaceAll('"P"', '45.10')
        .replaceAll('"N"', '1234567890'.repeat(20)),
  ],
  ['insert', 'many values of Json', () => `{"id":-4,"j":[${'1,'.repeat(90_000)}1]}`],
  ['insert', 'digits that are no Double', () => filled('{"id":-5,"d":"', '1', 'x"}')],
  ['insert', 'digits that are no Integer', () => filled('{"id":"', '1', 'x"}')],
  ['insert', 'a long Timestamp', () => filled('{"id":-6,"at":"2026-01-31T', '1', '"}')],
  [
    'update',
    'many assignments',
    () =>
      `{"Criteria":[],"Assignments":{${numbers(500_000)
        .map((index) => `"m${index}":1`)
        .join(',')}}}`,
  ],
  ['delete', 'lists of values', () => requireList(100, () => criterion(numbers(10_000)))],
]

onEveryEngineInLongRuns('hostile bodies', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    const columns = NAMES.map((name) => `${name} Integer`).join(', ')
    const sql = `CREATE TABLE h (id Integer PRIMARY KEY, t Text, b Binary, j Json, d Double, p Decimal(9, 2), at Timestamp, ${columns})`
    assert.equal((await server.query(sql)).status, 200)
  })
  after(() => server.stop())
  const emptyTable = async () => {
    const { status } = await server.query('DELETE FROM h WHERE true')
    assert.equal(status, 200, server.log.at(-1))
  }

  const bodies = IS_LONG_RUN ? BODIES : BODIES.filter((_, index) => index % 6 === 0)
  for (const [call, what, create] of bodies) {
    test(`${call}: ${what}`, async () => {
      const body = create()
      const bytes = Buffer.from(body)
      assert.ok(bytes.length <= BODY_BYTES, `${bytes.length} bytes`)
      const { milliseconds, limit } = await longestTurn(
        async () => {
          const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' }
          const reply = await fetch(`${server.url}/query/h/${call}`, { method: 'POST', headers, body: bytes })
          // Not in one piece, which would be work of the client.
          let byteLength = 0
          for await (const chunk of reply.body ?? []) byteLength += chunk.length
          assert.ok(reply.status < 500)
          assert.ok(byteLength < 10_000 || reply.status === 200, 'an error does not repeat the body')
          // Otherwise a second try would be refused for its keys, which is less work.
        },
        call === 'insert' ? emptyTable : undefined,
      )
      assert.ok(milliseconds < limit, `${Math.round(milliseconds)} ms, the limit is ${Math.round(limit)} ms`)
    })
  }

  test('values are counted over the whole request, and refused before anything is built from them', async () => {
    const lists = Array.from({ length: 11 }, () => criterion(numbers(1000)))
    for (const body of [lists, [{ Or: lists }], [{ Not: { And: lists } }]]) {
      const reply = await server.call('/query/h/select', body)
      assert.deepEqual([reply.status, reply.json.Code], [400, 'Request.BadBody'])
      assert.match(reply.json.detail, /more than 10000 values in all/)
    }
    assert.equal((await server.call('/query/h/select', lists.slice(1))).status, 200)
    const reply = await server.call('/query/h/insert', filled('[', '{"id":1},', ']'))
    assert.deepEqual([reply.status, reply.json.Code], [413, 'Request.TooLarge'])
  })

  test('rows that name the same columns in another order are inserted alike', async () => {
    const reply = await server.call('/query/h/insert', [
      { id: 500, t: 'a', c1: 1 },
      { C1: 2, T: 'b', id: 501 },
    ])
    assert.deepEqual(
      reply.json.Rows.map(({ id, t, c1 }) => [id, t, c1]),
      [
        [500, 'a', 1],
        [501, 'b', 2],
      ],
    )
  })
})
