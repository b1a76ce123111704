/** What an application does with the built client library, in plain JavaScript for any runtime: `flow.mjs SERVER`. */
import {
  ConnectionError,
  createLive,
  Gatehouse,
  getToken,
  LiveEvents,
  password,
  QueryError,
} from '../../../packages/client/dist/index.js'

const [server] = globalThis.Deno?.args ?? process.argv.slice(2)
// Node 20 has none.
const WebSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket
const open = (username, secret) =>
  new Gatehouse(server, { WebSocket, auth: password({ clientId: 'demo-cli', username, password: secret }) })
const admin = open('admin', 'admin-please-change')
const gate = open('alice', 'wonderland-1')
const LARGE = 9_007_199_254_740_993n

/** Fails with the name of the step. */
function check(step, actual, expected) {
  const text = (value) => JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? `${member}n` : member))
  if (text(actual) !== text(expected)) throw new Error(`${step}: ${text(actual)} is not ${text(expected)}`)
  console.log(`ok ${step}`)
}

/** The next change of a loop whose rows are as expected. */
async function follow(step, live, expected) {
  const text = (rows) => JSON.stringify(rows)
  for await (const _ of live) if (text(live.rows) === text(expected)) break
  check(step, live.rows, expected)
}

await admin.query`create table fills (id Integer primary key, quantity Integer not null, raw Binary)
  read scope 'Platform/Market' write scope 'Platform/Trading'`
const fills = gate.table('fills')
await fills.insert([
  { id: LARGE, quantity: 1, raw: new Uint8Array([0, 255]) },
  { id: 2, quantity: 5 },
])
check('exact values', (await gate.query`select id from fills where id > ${3}`)[0]?.id, LARGE)
const [{ raw }] = await gate.query`select raw from fills where raw is not null`
check('bytes', [...raw], [0, 255])
await fills.delete({ id: LARGE })
const idempotencyKey = crypto.randomUUID()
for (const _ of ['sent', 'repeated']) await fills.upload([{ id: 3, quantity: 6 }], { idempotencyKey })
check('upload once', (await fills.select({ orderBy: 'id' })).rows.length, 2)
let count = 0
for await (const _ of gate.query`select id from trades`.stream()) count++
check('a stream of rows', count > 1000, true)
check('Arrow', (await gate.query`select id from trades`.arrow()).length > 1000, true)
const wrong = await gate.query`select pric from trades`.rows().catch((error) => error)
check(
  'errors with a caret',
  [wrong instanceof QueryError, wrong.caret],
  [true, '1 | select pric from trades\n           ^'],
)

const states = []
gate.on('state', ({ state }) => states.push(state))
const live = gate.live`select id, quantity from fills order by id`
await live.ready()
await fills.update({ id: 2 }, { quantity: 9 })
await follow('live by WebSocket', live, [
  { id: 2, quantity: 9 },
  { id: 3, quantity: 6 },
])
const events = createLive(new LiveEvents(gate), gate.values)`select count(*) as n from fills`
await events.ready()
await fills.insert({ id: 4, quantity: 1 })
await follow('live by events', events, [{ n: 3 }])
events.close()
check('a request on the stream', (await gate.stream.request('Platform', 'QueryServerInfo')).Class, 'Gatehouse')
for await (const { Class } of gate.stream.subscribe('Platform', 'ServerInfo')) {
  check('a subscription', Class, 'Gatehouse')
  break
}

await admin.request('/admin/feeds', { method: 'POST', body: { name: 'Flow', read: 'Platform/Market' } })
await admin.feed('Flow').publishAll([
  { topic: 'a/1', data: { size: LARGE } },
  { topic: 'a/2', data: 2 },
])
const feed = gate.feed('Flow').subscribe('a/*')
for await (const _ of feed) if (feed.values.size === 2) break
const both = [
  ['a/1', { size: LARGE }],
  ['a/2', 2],
]
check('a feed', [...feed.values], both)
check('the newest message of a topic', (await gate.feed('Flow').latest('a/2')).data, 2)
feed.close()
await admin.request('/admin/feeds/Flow', { method: 'DELETE' })

const before = await gate.auth.token()
gate.auth.refuse(before)
check('a refused token is replaced', (await gate.auth.token()) !== before, true)
check('the user', (await gate.auth.user()).preferred_username, 'alice')
const abort = new AbortController()
abort.abort(new Error('enough'))
check(
  'an abort',
  (await gate.query`select 1 as a`.rows({ signal: abort.signal }).catch((error) => error)).message,
  'enough',
)
const away = new Gatehouse('http://127.0.0.1:1', { auth: getToken(() => 'x'), attempts: 1 })
const unreachable = await away.query`select 1 as a`.rows().catch((error) => error)
check('a server that is away', unreachable instanceof ConnectionError, true)
check('states', states, ['connecting', 'online'])

await admin.query`drop table fills`
await gate.auth.signOut()
gate.close()
admin.close()
// The process ends without being stopped, because nothing is left open.
console.log('done')
