/** Times with more digits than microseconds: PostgreSQL's clients send them, JSON is exact. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { onEveryEngine } from '../support/engines.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { message } from '../support/wire-client.ts'
import { texts, WireSession } from '../support/wire-session.ts'

/** As Go's lib/pq writes time.Now(), and what PostgreSQL 15 stores. */
const SENT = [
  ['2026-01-31 10:00:00.1234567Z', '2026-01-31 10:00:00.123457+00'],
  ['2026-01-31 10:00:00.1234565+02:00', '2026-01-31 08:00:00.123456+00'],
  ['2026-01-31 10:00:00.1234575Z', '2026-01-31 10:00:00.123458+00'],
  ['2026-12-31 23:59:59.999999999Z', '2027-01-01 00:00:00+00'],
] as const

onEveryEngine('nanoseconds', (place) => {
  let server: TestServer
  let session: WireSession
  before(async () => {
    const flags = { '--demo': 'true', '--wire-port': '0', '--wire-writes': 'true' }
    server = await startTestServer(place(), { flags })
    session = await WireSession.open(server.wirePort ?? 0, ADMIN.username, ADMIN.password)
    await session.query('CREATE TABLE moments (id Integer PRIMARY KEY, at Timestamp, day_time Time)')
  })
  after(async () => {
    session.close()
    await server.stop()
  })

  const stored = async () => {
    const rows = texts(await session.query('SELECT at, day_time FROM moments ORDER BY id'))
    await session.query('DELETE FROM moments WHERE id > 0')
    return rows
  }
  const expected = SENT.map(([, text]) => [text, '10:00:00.123457'])

  test('the values of parameters are rounded as PostgreSQL rounds them', async () => {
    for (const [id, [text]] of SENT.entries()) {
      const values = [String(id + 1), text, '10:00:00.1234567']
      const { errors } = await session.run('INSERT INTO moments (id, at, day_time) VALUES ($1, $2, $3)', values, {
        types: [20, 1184, 1083],
      })
      assert.deepEqual(errors, [])
    }
    assert.deepEqual(await stored(), expected)
  })

  test('so are literals', async () => {
    // More than once, since the second statement uses the plan of the first.
    for (const [id, [text]] of SENT.entries()) {
      const { errors } = await session.query(`INSERT INTO moments VALUES (${id + 1}, '${text}', '10:00:00.1234567')`)
      assert.deepEqual(errors, [])
    }
    assert.deepEqual(await stored(), expected)
  })

  for (const [options, delimiter] of [
    ['', '\t'],
    [' WITH (FORMAT csv)', ','],
  ])
    test(`so are the rows of COPY${options}`, async () => {
      session.client.send(message('Q', `COPY moments FROM STDIN${options}\0`))
      await session.client.reply()
      const lines = SENT.map(([text], index) => [index + 1, text, '10:00:00.1234567'].join(delimiter))
      const { errors } = await session.send(message('d', `${lines.join('\n')}\n`), message('c'))
      assert.deepEqual(errors, [])
      assert.deepEqual(await stored(), expected)
    })

  test('a time that would be rounded to midnight, and one beyond the year 9999, are refused', async () => {
    for (const values of [
      ['2026-01-31 10:00:00Z', '23:59:59.9999999'],
      ['9999-12-31 23:59:59.9999999Z', '10:00:00'],
    ]) {
      const { errors } = await session.run('INSERT INTO moments VALUES (1, $1, $2)', values)
      assert.equal(errors[0]?.C, '22P02')
    }
  })

  test('JSON refuses them, and the message names the digits', async () => {
    const token = (await signIn(server, ADMIN)).access_token
    const send = async (path: string, body: object) => {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { ...bearer(token).headers, 'content-type': 'application/json' },
      })
      return { status: response.status, text: await response.text() }
    }
    const at = '2026-01-31T10:00:00.1234567Z'
    for (const { status, text } of [
      await send('/query', { Statement: 'SELECT id FROM moments WHERE at = :at', Parameters: { at } }),
      await send('/query/moments/Insert', { id: 1, at }),
    ]) {
      assert.equal(status, 422, text)
      assert.match(text, /more than 6 digits after the point of its seconds/)
    }
  })
})
