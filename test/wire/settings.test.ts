/** Settings of a session: ParameterStatus, SET, SHOW, RESET, DISCARD, DEALLOCATE, and the start-up packet. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { VERSION } from 'gatehouse-protocol'
import { ALICE } from '../support/demo-user.ts'
import { useServer } from '../support/server.ts'
import { errorFields, signInTo } from '../support/wire-client.ts'
import { bind, parse, SYNC, texts, WireSession } from '../support/wire-session.ts'

const server = useServer({ flags: { '--demo': 'true', '--wire-port': '0' } }, async () => {
  session = await WireSession.open(server.wirePort ?? 0, ALICE.username, ALICE.password)
})
const signIn = (parameters = {}) => signInTo(server.wirePort ?? 0, ALICE.username, ALICE.password, parameters)
let session: WireSession
after(() => session.close())

const readCode = async (text: string) => (await session.query(text)).errors[0]?.C
const show = async (name: string) => texts(await session.query(`SHOW ${name}`))[0]?.[0]

test('the 13 settings of PostgreSQL 15 are reported after sign-in', async () => {
  const { client, replies } = await signIn({ application_name: 'tests', TimeZone: 'Europe/Zurich' })
  const reported = new Map(
    replies
      .filter(({ type }) => type === 'S')
      .map(({ body }) => body.toString().split('\0').slice(0, 2) as [string, string]),
  )
  assert.deepEqual(Object.fromEntries(reported), {
    application_name: 'tests',
    client_encoding: 'UTF8',
    DateStyle: 'ISO, MDY',
    default_transaction_read_only: 'off',
    in_hot_standby: 'off',
    integer_datetimes: 'on',
    IntervalStyle: 'postgres',
    is_superuser: 'off',
    server_encoding: 'UTF8',
    server_version: `15.0 (Gatehouse ${VERSION})`,
    session_authorization: 'alice',
    standard_conforming_strings: 'on',
    TimeZone: 'UTC',
  })
  client.close()
})

test('a start-up packet has settings in its options; unknown ones are refused', async () => {
  const { client, replies } = await signIn({ options: '-c statement_timeout=5s --extra-float-digits=3' })
  assert.equal(replies.at(-1)?.type, 'Z')
  const opened = new WireSession(client)
  assert.deepEqual(texts(await opened.query('SHOW statement_timeout')), [['5s']])
  assert.deepEqual(texts(await opened.query('SHOW extra_float_digits')), [['3']])
  client.close()
  const refused = await signIn({ no_such_setting: 'x' })
  const fields = errorFields(refused.replies.at(-1)?.body ?? Buffer.alloc(0))
  assert.deepEqual([fields.S, fields.C], ['FATAL', '42704'])
  refused.client.close()
})

test('SET, SHOW and RESET, and version()', async () => {
  assert.equal((await session.query("SET application_name TO 'a b'")).letters, 'SCZ')
  assert.equal(await show('APPLICATION_NAME'), 'a b')
  await session.query('RESET application_name')
  assert.equal(await show('application_name'), '')
  assert.equal(await show('transaction isolation level'), 'read committed')
  const version = [[`PostgreSQL 15.0 (Gatehouse ${VERSION})`]]
  assert.deepEqual(texts(await session.query('SELECT version()')), version)
  assert.deepEqual(texts(await session.query('SELECT version() FROM pg_catalog.pg_database')), version)
  assert.ok((await session.query('SHOW ALL')).rows.length > 30)
  assert.equal(await readCode('SET no_such_setting = 1'), '42704')
  assert.equal(await readCode('SHOW no_such_setting'), '42704')
  assert.equal(await readCode("SET TIME ZONE 'Europe/Zurich'"), '22023')
  assert.match((await session.query("SET TimeZone = 'Asia/Tokyo'")).errors[0]?.H ?? '', /AT TIME ZONE/)
  assert.equal(await readCode("SET TIME ZONE 'UTC'"), undefined)
  assert.equal(await readCode('SET server_version = 1'), '55P02')
  assert.equal(await readCode("SET client_encoding = 'LATIN1'"), '22023')
  assert.equal(await readCode("SET NAMES 'utf8'"), undefined)
  assert.equal(await readCode('SET statement_timeout = soon'), '22023')
})

test('what a block sets is undone with it, and SET LOCAL in any case', async () => {
  await session.query('BEGIN')
  await session.query("SET application_name = 'x'")
  await session.query('ROLLBACK')
  assert.equal(await show('application_name'), '')
  await session.query('BEGIN')
  await session.query("SET application_name = 'kept'")
  await session.query("SET LOCAL statement_timeout = '7s'")
  assert.equal(await show('statement_timeout'), '7s')
  await session.query('COMMIT')
  assert.deepEqual([await show('application_name'), await show('statement_timeout')], ['kept', '0'])
})

test('what a block resets is as before once it is rolled back', async () => {
  await session.query("SET application_name TO 'outer'")
  await session.query('BEGIN; RESET application_name')
  assert.equal(await show('application_name'), '')
  await session.query('ROLLBACK')
  assert.equal(await show('application_name'), 'outer')
  await session.query('RESET ALL')
})

test('the texts of settings are bounded; a long application_name is cut', async () => {
  await session.query(`SET application_name TO '${'é'.repeat(100)}'`)
  assert.equal(await show('application_name'), 'é'.repeat(63))
  assert.equal(await readCode(`SET search_path TO '${'x'.repeat(1001)}'`), '22023')
  await session.query('RESET ALL')
})

test('DEALLOCATE and DISCARD ALL forget prepared statements', async () => {
  await session.send(parse('one', 'SELECT 1 AS x'), parse('two', 'SELECT 1 AS x'), SYNC)
  assert.deepEqual((await session.query('DEALLOCATE one')).tags, ['DEALLOCATE'])
  assert.equal(await readCode('DEALLOCATE one'), '26000')
  assert.deepEqual((await session.query('DISCARD ALL')).tags, ['DISCARD ALL'])
  assert.equal((await session.send(bind('', 'two', []), SYNC)).errors[0]?.C, '26000')
  assert.equal(await readCode('BEGIN; DISCARD ALL'), '25001')
  await session.query('ROLLBACK')
})

test('connections only read unless wire_writes is on', async () => {
  const { errors } = await session.query('DELETE FROM trades WHERE id = 1')
  assert.equal(errors[0]?.C, '25006')
  assert.match(errors[0]?.H ?? '', /wire_writes/)
})
