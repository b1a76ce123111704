/** Names in JSON that clients escape, as those of Python do, are read the same whatever other callers have sent. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

let server: QueryServer
let leave: () => Promise<void>
before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  server = await startQueryServer(opened.place)
  const { status, text } = await server.query('CREATE TABLE sizes (id Integer PRIMARY KEY, größe Integer, more Json)')
  assert.equal(status, 200, text)
})
after(async () => {
  await server.stop()
  await leave()
})

function insert(body: string): Promise<Response> {
  const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' }
  return fetch(`${server.url}/Query/sizes/Insert`, { method: 'POST', headers, body })
}

test('the name of a column, and names inside a value', async () => {
  // Its second name begins like the escaped one of the next request.
  const odd = await insert(String.raw`[{"id":1,"gr\\u0":1}]`)
  assert.equal(odd.status, 400)
  const column = await insert(String.raw`[{"id":2,"gr\u00f6\u00dfe":7}]`)
  assert.equal(column.status, 200, await column.text())
  assert.equal((await insert(String.raw`[{"id":3,"more":{"h":[],"\\":0}}]`)).status, 200)
  assert.equal((await insert(String.raw`[{"id":4,"more":{"h":1,"\"":2}}]`)).status, 200)
  // As text: JSON.parse could read it wrongly here too.
  const { text } = await server.query('SELECT id, größe, more FROM sizes ORDER BY id')
  const rows = [
    '{"id":2,"größe":7,"more":null}',
    String.raw`{"id":3,"größe":null,"more":{"h":[],"\\":0}}`,
    String.raw`{"id":4,"größe":null,"more":{"h":1,"\"":2}}`,
  ]
  assert.ok(text.includes(`"Rows":[${rows.join(',')}]`), text)
})
