/** The life of connections by PostgreSQL's protocol: expiry, revocation, kicks, idleness and a stopping node end them with 57P01. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN, ALICE, bearer, post, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { startTestServer, useServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { message, signInTo, type WireClient } from '../support/wire-client.ts'

const server = useServer({ flags: { '--demo': 'true', '--wire-port': '0', '--wire-session': '2', '--wire-idle': '1' } })
const steady = useServer({ flags: { '--demo': 'true', '--wire-port': '0' } })

async function open(user = 'alice', secret = ALICE.password, at = steady): Promise<WireClient> {
  const { client, replies } = await signInTo(at.wirePort ?? 0, user, secret)
  assert.equal(replies.at(-1)?.type, 'Z')
  return client
}

/** The reason with which the connection ends, within a second. */
async function waitForEnd(client: WireClient, most = 1_000): Promise<string> {
  const began = performance.now()
  const { S, C, M } = await client.error()
  assert.deepEqual([S, C], ['FATAL', '57P01'])
  await client.closed()
  assert.ok(performance.now() - began < most, `${performance.now() - began} ms`)
  return M ?? ''
}

async function admin(
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const { access_token: token } = await signIn(steady, ADMIN)
  const response = await fetch(`http://127.0.0.1:${steady.port}${path}`, {
    method,
    headers: { ...bearer(token).headers, 'content-type': 'application/json', 'if-match': '*' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
}

test('a connection under a password lives no longer than wire_session', async () => {
  const { client } = await signInTo(server.wirePort ?? 0, ALICE.username, ALICE.password)
  const busy = setInterval(() => client.send(message('S')), 100)
  const began = performance.now()
  const { C, M } = await client.error()
  clearInterval(busy)
  assert.equal(C, '57P01')
  assert.match(M ?? '', /expired/)
  const took = performance.now() - began
  assert.ok(took > 700 && took < 3_300, `${took} ms`)
})

test('an idle connection is closed after wire_idle', async () => {
  const { access_token: token } = await signIn(server)
  assert.match(await waitForEnd(await open('token', token, server), 2_500), /idle/)
})

test('revoking a token ends its connections', async () => {
  const { access_token: token } = await signIn(steady)
  const client = await open('token', token)
  const other = await open()
  await post(steady, '/connect/revocation', { client_id: 'demo-cli', token, token_type_hint: 'access_token' })
  assert.match(await waitForEnd(client), /revoked/)
  other.send(message('S'))
  assert.equal((await other.reply())?.type, 'Z')
  other.close()
})

test('an operator sees connections and closes them, one or all of a user', async () => {
  const [first, second] = [await open(), await open()]
  const machine = await open('demo-service', 'demo-service-secret')
  const { body } = await admin('GET', '/admin/wire?user=alice')
  const items = body.items as Record<string, unknown>[]
  assert.equal(items.length, 2)
  assert.partialDeepStrictEqual(items[0], {
    username: 'alice',
    client: 'gatehouse-tools',
    state: 'idle',
    address: '127.0.0.1',
  })
  assert.equal(((await admin('GET', '/admin/wire')).body.items as unknown[]).length, 3)
  assert.deepEqual((await admin('DELETE', `/admin/wire/${items[0]?.id}`)).body, { closed: 1, silent: [] })
  assert.match(await waitForEnd(second), /operator/)
  assert.deepEqual((await admin('DELETE', '/admin/wire?user=alice')).body, { closed: 1, silent: [] })
  assert.match(await waitForEnd(first), /operator/)
  assert.equal((await admin('DELETE', '/admin/wire/none')).status, 404)
  machine.close()
})

test('a changed secret or disabled client, and a disabled user, end their connections', async () => {
  const machine = await open('demo-service', 'demo-service-secret')
  assert.equal((await admin('PATCH', '/admin/clients/demo-service', { disabled: true })).status, 200)
  assert.match(await waitForEnd(machine), /revoked/)
  await admin('PATCH', '/admin/clients/demo-service', { disabled: false })
  const client = await open()
  assert.equal((await admin('PATCH', '/admin/users/alice', { disabled: true })).status, 200)
  assert.match(await waitForEnd(client), /revoked/)
  const { client: refused, replies } = await signInTo(steady.wirePort ?? 0, ALICE.username, ALICE.password)
  assert.equal(replies.at(-1)?.type, 'E')
  refused.close()
  await admin('PATCH', '/admin/users/alice', { disabled: false })
})

test('sign-ins, refusals and ends are in the audit log and in the metrics', async () => {
  const client = await open()
  client.send(message('X'))
  await client.closed()
  const { body } = await admin('GET', '/admin/audit?event=wire')
  const events = new Set((body.items as { event: string }[]).map(({ event }) => event))
  assert.deepEqual([...events].sort(), ['wire.closed', 'wire.kicked', 'wire.opened', 'wire.refused'])
  const { access_token: token } = await signIn(steady, ADMIN)
  const metrics = await (await fetch(`http://127.0.0.1:${steady.port}/metrics`, bearer(token))).text()
  assert.match(metrics, /gatehouse_wire_signins_total\{method="password"\} [1-9]/)
  assert.match(metrics, /gatehouse_wire_closes_total\{reason="kicked"\} 2/)
  assert.match(metrics, /gatehouse_wire_connections\{state="open"\} 0/)
})

test('the grant of a sign-in with a password is there while the connection is, and ends with it', async () => {
  const grants = async (): Promise<number> => {
    const { body } = await admin('GET', '/admin/grants?user=alice')
    return (body.items as { client_id: string }[]).filter(({ client_id: id }) => id === 'gatehouse-tools').length
  }
  const client = await open()
  assert.equal(await grants(), 1)
  client.close()
  await until('it has ended', 2_000, async () => (await grants()) === 0)
})

test('a protocol violation ends the connection with 08P01', async () => {
  for (const bad of [
    message('?'),
    message('p', 'again\0'),
    message('Q', 'no end'),
    message('Q', 'one\0two\0'),
    message('D', 'X\0'),
    message('B', '\0\0\0\0\0\x01\x7f\xff\xff\xff'),
    message('E', '\0'),
    Buffer.from('Q\0\0\0\x03'),
    Buffer.from('Q\x7f\xff\xff\xff'),
    Buffer.from('d\x00\x20\x00\x00'),
    Buffer.from('S\x00\x20\x00\x00'),
  ]) {
    const client = await open()
    client.send(bad)
    const { S, C } = await client.error()
    assert.deepEqual([S, C], ['FATAL', '08P01'], String(bad))
    await client.closed()
  }
})

test('random sequences of messages end in errors, and never in an internal error', { timeout: 60_000 }, async () => {
  const words = [
    '',
    'a',
    'SELECT 1',
    'SELECT $1',
    'BEGIN',
    'COMMIT',
    'select symbol from instruments',
    'FETCH',
    'COPY (SELECT 1) TO STDOUT',
    ';;',
    "'",
  ]
  let seed = 7
  const pick = <T>(choices: readonly T[]): T => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return choices[seed % choices.length] as T
  }
  const counts = ['\0\0', '\0\x01\0\x01', '\0\x01\0\0', '\0\x02\0\0\0\x01']
  const values = ['\0\0', '\0\x01\xff\xff\xff\xff', '\0\x01\0\0\0\x0212', '\0\x02\0\0\0\x011\0\0\0\0']
  const latin = (text: string): Buffer => Buffer.from(text, 'latin1')
  const makers = [
    () => message('Q', `${pick(words)}\0`),
    () => message('P', `${pick(['', 's'])}\0${pick(words)}\0\0\0`),
    () =>
      message(
        'B',
        latin(`${pick(['', 'p'])}\0${pick(['', 's', 'none'])}\0${pick(counts)}${pick(values)}${pick(counts)}`),
      ),
    () => message('D', `${pick(['S', 'P'])}${pick(['', 's', 'p'])}\0`),
    () => message('E', latin(`${pick(['', 'p'])}\0\0\0\0${pick(['\0', '\x01'])}`)),
    () => message('C', `${pick(['S', 'P'])}${pick(['', 's', 'p'])}\0`),
    () => message('S'),
    () => message('H'),
    () => message('d', 'data'),
    () => message('c'),
    () => message('f', 'stop\0'),
    () => message('F', 'call'),
  ]
  // Without a password, whose check takes a while on a busy machine.
  const { access_token: token } = await signIn(steady)
  for (let round = 0; round < 40; round += 1) {
    const client = await open('token', token)
    for (let count = 0; count < 30; count += 1) client.send(pick(makers)())
    client.send(message('S'), message('X'))
    await client.closed()
  }
  const faults = steady.log.filter((line) => /"level":"?(50|60|error|fatal)/.test(line))
  assert.deepEqual(faults, [])
})

test('a stopping node ends its connections, and accepts none', async () => {
  const opened = await openPlace('sqlite')
  const other = await startTestServer(opened.place, { flags: { '--demo': 'true', '--wire-port': '0' } })
  const client = await open('alice', ALICE.password, other)
  const stopped = other.stop()
  assert.match(await waitForEnd(client), /stopping/)
  await stopped
  await opened.leave()
})
