/** pg_backend_pid and pg_cancel_backend: a statement is cancelled from another connection of the same user. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN, ALICE } from '../support/demo-user.ts'
import { useServer } from '../support/server.ts'
import { message, readCancelKey, signInTo } from '../support/wire-client.ts'
import { texts, WireSession } from '../support/wire-session.ts'

/** Takes longer than any test. */
const LONG =
  'select count(*) as n from trades a, trades b, trades c, trades d where a.price + b.price > c.price + d.price\0'

const server = useServer({ flags: { '--demo': 'true', '--wire-port': '0' } })

async function open(user = ALICE) {
  const { client, replies } = await signInTo(server.wirePort ?? 0, user.username, user.password)
  return { client, session: new WireSession(client), processId: readCancelKey(replies).processId }
}

test('pg_backend_pid is the process id of BackendKeyData', async () => {
  const [one, two] = [await open(), await open()]
  for (const { session, processId } of [one, two, one])
    assert.deepEqual(texts(await session.query('SELECT pg_backend_pid()')), [[String(processId)]])
  for (const { session } of [one, two]) session.close()
})

test('pg_cancel_backend stops the statement of another connection of the same user', async () => {
  const [busy, other] = [await open(), await open()]
  busy.client.send(message('Q', LONG))
  await sleep(100)
  // As knex sends it.
  const answer = await other.session.run('SELECT pg_cancel_backend($1);', [String(busy.processId)])
  assert.deepEqual([answer.errors, texts(answer)], [[], [['t']]])
  assert.equal((await busy.client.error()).C, '57014')
  // The connection goes on.
  assert.deepEqual(texts(await other.session.query('SELECT 1 AS x')), [['1']])
  for (const { session } of [busy, other]) session.close()
})

test('an idle connection is a backend too, and the next statement of it runs', async () => {
  const [idle, other] = [await open(), await open()]
  assert.deepEqual(texts(await other.session.query(`SELECT pg_cancel_backend(${idle.processId})`)), [['t']])
  assert.deepEqual(texts(await idle.session.query('SELECT 1 AS x')), [['1']])
  for (const { session } of [idle, other]) session.close()
})

test('a backend of another user is as unknown as one that does not exist, also to an administrator', async () => {
  const [busy, admin] = [await open(), await open(ADMIN)]
  busy.client.send(message('Q', LONG))
  await sleep(100)
  const missing = (busy.processId % 2_147_483_646) + 1
  const text = `SELECT pg_cancel_backend(${busy.processId}), pg_cancel_backend(${missing}), pg_cancel_backend(NULL)`
  assert.deepEqual(texts(await admin.session.query(text)), [['f', 'f', null]])
  assert.equal((await busy.client.reply())?.type, 'T')
  const still = await Promise.race([busy.client.reply(), sleep(300, 'running')])
  assert.equal(still, 'running')
  for (const { session } of [busy, admin]) session.close()
})

test('a statement that cancels itself ends with 57014', async () => {
  const { session } = await open()
  const { errors } = await session.query('SELECT pg_cancel_backend(pg_backend_pid())')
  assert.equal(errors[0]?.C, '57014')
  assert.deepEqual(texts(await session.query('SELECT 1 AS x')), [['1']])
  session.close()
})

test('one statement cancels at most 20 others', async () => {
  const { session } = await open()
  const { errors } = await session.query('SELECT pg_cancel_backend(x) FROM generate_series(1, 21) AS x')
  assert.equal(errors[0]?.C, '54001')
  session.close()
})
