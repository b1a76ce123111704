/** Resources, prompts and completion of agents: what the caller may read, and nothing about the rest. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { agentToken, McpClient } from '../support/mcp.ts'
import { useServer } from '../support/server.ts'

let client: McpClient
const server = useServer({ flags: { '--demo': 'true', '--limit-mcp': '' } }, async () => {
  client = new McpClient(server, await agentToken(server))
  const { access_token: token } = await signIn(server, ADMIN)
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  await post('/query', { Statement: `CREATE TABLE "odd / näme" (id Integer PRIMARY KEY)` })
  await post('/query', { Statement: `CREATE TABLE hidden (id Integer PRIMARY KEY) READ SCOPE 'Platform/Admin'` })
  await post('/admin/feeds', { name: 'Prices', read: 'Platform/Market', write: 'Platform/Admin', keep: 'latest' })
  await post('/admin/feeds', { name: 'Private', read: 'Platform/Admin', write: 'Platform/Admin', keep: 'latest' })
  await post('/feeds/Prices', [{ Topic: 'NYSE/ACME', Data: { last: 1.5 } }])
})

const read = (uri: string) => client.request('resources/read', { uri })
const complete = async (ref: object, name: string, value: string, context = {}) =>
  (await client.request('completion/complete', { ref, argument: { name, value }, context })).body.result.completion

test('resources/list: the language and the tables that the caller may read, private for a minute', async () => {
  const { resources, ttlMs, cacheScope } = (await client.request('resources/list')).body.result
  assert.deepEqual([ttlMs, cacheScope], [60_000, 'private'])
  const uris = resources.map(({ uri }: { uri: string }) => uri)
  assert.ok(uris.includes('gatehouse://iql') && uris.includes('gatehouse://table/trades'))
  assert.ok(uris.includes('gatehouse://table/odd%20%2F%20n%C3%A4me'))
  assert.ok(!uris.includes('gatehouse://table/hidden'))
})

test('resources/list goes on behind a table that was dropped meanwhile', async () => {
  const names = async (cursor: string) => {
    const { body } = await client.request('resources/list', { cursor })
    return body.result.resources.map(({ name }: { name: string }) => name)
  }
  assert.deepEqual((await names('quotes_of_yesterday'))[0], 'trades')
  assert.deepEqual(await names('zzz'), [])
})

test('resources/read: a table, the language, a message; what it may be kept', async () => {
  const table = (await read('gatehouse://table/odd%20%2F%20n%C3%A4me')).body.result
  assert.match(table.contents[0].text, /^table odd \/ näme/)
  assert.deepEqual([table.ttlMs, table.cacheScope], [60_000, 'private'])
  const message = (await read('gatehouse://feed/Prices/NYSE/ACME')).body.result
  assert.match(message.contents[0].text, /NYSE\/ACME \{"last":1\.5\}$/)
  assert.equal(message.ttlMs, 0)
  assert.match((await read('gatehouse://iql')).body.result.contents[0].text, /^Basics\. /)
})

test('what is unknown, and what is not for the caller, are the same -32602 with the URI', async () => {
  for (const uri of [
    'gatehouse://table/hidden',
    'gatehouse://table/none',
    'gatehouse://feed/Private/x',
    'gatehouse://feed/Prices/none',
    'gatehouse://table/%ff',
    'file:///etc/passwd',
  ]) {
    const { status, body } = await read(uri)
    assert.deepEqual(
      [status, body.error.code, body.error.message, body.error.data],
      [200, -32602, 'There is no such resource', { uri }],
    )
  }
})

test('completion: names that the caller may read, those that begin with what was typed first', async () => {
  const table = { type: 'ref/resource', uri: 'gatehouse://table/{name}' }
  const { values, total, hasMore } = await complete(table, 'name', 'TRA')
  assert.deepEqual([values[0], hasMore, total], ['trades', false, values.length])
  assert.deepEqual((await complete(table, 'name', 'hidden')).values, [])
  const feed = { type: 'ref/resource', uri: 'gatehouse://feed/{feed}/{+topic}' }
  assert.deepEqual((await complete(feed, 'feed', 'p')).values, ['Prices'])
  const topics = (name: string) => complete(feed, 'topic', 'NY', { arguments: { feed: name } })
  assert.deepEqual([(await topics('Prices')).values, (await topics('Private')).values], [['NYSE/ACME'], []])
  assert.deepEqual((await complete({ type: 'ref/prompt', name: 'explore_table' }, 'table', 'trad')).values, ['trades'])
  const { body } = await client.request('completion/complete', {
    ref: { type: 'ref/prompt', name: 'x' },
    argument: { name: 'a', value: '' },
  })
  assert.equal(body.error.code, -32602)
})

test('prompts: a list for everybody, texts with their arguments, -32602 without one that is needed', async () => {
  const list = (await client.request('prompts/list')).body.result
  assert.deepEqual(
    list.prompts.map(({ name }: { name: string }) => name),
    ['explore_table', 'explain_slow'],
  )
  const params = { name: 'explore_table', arguments: { table: 'trades\u202e' } }
  const { messages } = (await client.request('prompts/get', params)).body.result
  assert.match(messages[0].content.text, /the table trades\\u\{202e\} of Gatehouse/)
  for (const bad of [{ name: 'explore_table' }, { name: 'nothing' }])
    assert.equal((await client.request('prompts/get', bad)).body.error.code, -32602)
})
