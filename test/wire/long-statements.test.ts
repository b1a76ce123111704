/** Long statements are planned in turns: they have the results and the errors of short ones, on every way in. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN, ALICE, bearer, signIn } from '../support/demo-user.ts'
import { useServer } from '../support/server.ts'
import { message } from '../support/wire-client.ts'
import { bind, execute, parse, SYNC, texts, WireSession } from '../support/wire-session.ts'

const server = useServer(
  {
    flags: {
      ...{ '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true' },
      ...{ '--limit-query': 'user=200/60', '--limit-exempt': '', '--query-statement-bytes': '200000' },
    },
  },
  async () => {
    const session = await open()
    await session.query('CREATE TABLE long_texts (id Integer PRIMARY KEY, v Text)')
    await session.query("INSERT INTO long_texts (id, v) VALUES (1, 'v1'), (2, 'v2'), (3, 'other')")
    session.close()
  },
)
const open = () => WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)

const items = (count: number, item = (index: number) => `'v${index}'`) =>
  Array.from({ length: count }, (_, i) => item(i))
const LONG = `SELECT id FROM long_texts WHERE v IN (${items(6000).join()}) ORDER BY id`
const FOUND = [['1'], ['2']]

test('a long statement has its rows by both protocols, prepared, declared, copied and explained', async () => {
  const session = await open()
  assert.deepEqual(texts(await session.query(LONG)), FOUND)
  assert.deepEqual(texts(await session.run(LONG.replace('IN', 'IN '))), FOUND)
  assert.deepEqual(texts(await session.query(`PREPARE p AS ${LONG}`)), [])
  assert.deepEqual(texts(await session.query('EXECUTE p')), FOUND)
  const declared = await session.query(`BEGIN; DECLARE c CURSOR FOR ${LONG}; FETCH ALL FROM c; COMMIT`)
  assert.deepEqual(texts(declared), FOUND)
  assert.equal((await session.query(`COPY (${LONG}) TO STDOUT`)).copied.toString(), '1\n2\n')
  assert.equal((await session.query(`EXPLAIN ${LONG}`)).rows.length > 0, true)
  session.close()
})

test('a long statement can follow others in one Query, each of which runs once', async () => {
  const session = await open()
  const answer = await session.query(`SELECT 7; ${LONG}; SELECT 8`)
  assert.deepEqual(texts(answer), [['7'], ...FOUND, ['8']])
  assert.deepEqual(answer.tags, ['SELECT 1', 'SELECT 2', 'SELECT 1'])
  session.close()
})

test('what only a client of PostgreSQL may send can be long: two columns of one name, an array', async () => {
  const session = await open()
  assert.deepEqual(texts(await session.query(LONG.replace('SELECT id', 'SELECT id, id'))), [
    ['1', '1'],
    ['2', '2'],
  ])
  const byArray = parse('a', 'SELECT id FROM long_texts WHERE v = ANY($1) ORDER BY id')
  const array = `{${items(6000, (index) => `v${index}`).join()}}`
  assert.deepEqual(texts(await session.send(byArray, bind('', 'a', [array]), execute(''), SYNC)), FOUND)
  session.close()
})

test('a long statement that is refused is refused like a short one, with its position, and the session goes on', async () => {
  const session = await open()
  const wrong = LONG.replace('ORDER BY id', 'ORDER BY missing')
  const [error] = (await session.query(wrong)).errors
  assert.equal(error?.C, '42703')
  assert.equal(Number(error?.P), wrong.indexOf('missing') + 1)
  const again = await session.send(parse('', wrong), bind('', '', []), SYNC)
  assert.equal(again.letters, 'EZ')
  assert.deepEqual(texts(await session.query(LONG)), FOUND)
  session.close()
})

test('long INSERTs of a block are written by COMMIT', async () => {
  const session = await open()
  await session.query('BEGIN')
  for (const from of [1000, 5000])
    await session.query(`INSERT INTO long_texts (id, v) VALUES ${items(2000, (i) => `(${from + i}, 'kept')`).join()}`)
  assert.deepEqual((await session.query('COMMIT')).tags, ['COMMIT'])
  assert.deepEqual(texts(await session.query("SELECT count(*) FROM long_texts WHERE v = 'kept'")), [['4000']])
  session.close()
})

test('over HTTP a long statement has its rows, and its error', async () => {
  const { access_token: token } = await signIn(server, ADMIN)
  const send = (body: string) => {
    const headers = { ...bearer(token).headers, 'Content-Type': 'text/plain' }
    return fetch(`http://127.0.0.1:${server.port}/query`, { method: 'POST', headers, body })
  }
  const replies = await Promise.all(Array.from({ length: 5 }, () => send(LONG)))
  for (const reply of replies) assert.match(await reply.text(), /"Rows":\[\{"id":1\},\{"id":2\}\]/)
  const refused = await send(LONG.replace('ORDER BY id', 'ORDER BY missing'))
  assert.match(await refused.text(), /"Code":"IQL.UnknownColumn"/)
})

test('every statement counts in the rate limit, also if it is refused or only parsed; a parsed one that runs counts once', async () => {
  const session = await WireSession.open(server.wirePort ?? 0, ALICE.username, ALICE.password)
  for (let sent = 0; sent < 60; sent++) assert.equal((await session.run('SELECT 1')).errors.length, 0, `${sent}`)
  for (let sent = 0; sent < 60; sent++) assert.equal((await session.query('SELECT 1')).errors.length, 0, `${sent}`)
  let parsed = 0
  let refused: string | undefined
  while (refused !== '53300' && parsed++ < 100)
    refused = (await session.send(parse('', parsed % 2 === 0 ? 'SELECT' : 'SELECT 1'), SYNC)).errors[0]?.C
  assert.equal(refused, '53300')
  assert.equal(parsed > 60, true, `${parsed}`)
  session.close()
})

test('a Query or Parse that is too long is skipped and refused, and the session goes on; one beyond 1 MiB ends it', async () => {
  const session = await open()
  const tooLong = `SELECT '${'x'.repeat(300_000)}'`
  const answer = await session.send(message('Q', `${tooLong}\0`))
  assert.deepEqual([answer.letters, answer.errors[0]?.S, answer.errors[0]?.C], ['EZ', 'ERROR', '54000'])
  assert.match(answer.errors[0]?.H ?? '', /chunksize=500/)
  const parsed = await session.send(parse('', tooLong), bind('', '', []), execute(''), SYNC)
  assert.deepEqual([parsed.letters, parsed.errors[0]?.C], ['EZ', '54000'])
  assert.deepEqual(texts(await session.query('SELECT 7')), [['7']])
  session.client.send(message('Q', `SELECT '${'x'.repeat(3_000_000)}'\0`))
  const last = await session.client.error()
  assert.deepEqual([last.S, last.C], ['FATAL', '08P01'])
  session.close()
})

test('a command of the session has at most 65,536 characters and 10,000 words and values; statements in it may be longer', async () => {
  const session = await open()
  const readCode = async (text: string) => (await session.query(text)).errors[0]?.C
  assert.equal(await readCode(`SET application_name = '${'x'.repeat(66_000)}'`), '54000')
  assert.equal(await readCode(`BEGIN${' '.repeat(66_000)}`), '54000')
  assert.equal(await readCode(`SET search_path = ${items(6000, () => 'a').join()}`), '54001')
  assert.equal(await readCode(`COPY long_texts (${items(6000, () => 'a').join()}) FROM STDIN`), '54001')
  const types = await session.query(`PREPARE q (${items(6000, () => 'int').join()}) AS SELECT 1`)
  assert.equal(types.errors[0]?.C, '54001')
  const { errors } = await session.query(`PREPARE r AS ${LONG} -- ${'(1), '.repeat(14_000)}`)
  assert.deepEqual(errors, [])
  assert.deepEqual(texts(await session.query('EXECUTE r')), FOUND)
  // The value of a parameter is not a part of the command.
  await session.query('PREPARE s (text) AS SELECT id FROM long_texts WHERE v = $1')
  assert.deepEqual(texts(await session.query(`EXECUTE s (/*${' ('.repeat(40_000)}*/ 'v2')`)), [['2']])
  assert.deepEqual(texts(await session.query("EXECUTE s (('v'||(('2'))))")), [['2']])
  session.close()
})
