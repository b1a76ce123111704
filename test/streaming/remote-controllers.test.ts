/** Remote controllers: requests of streams are posted to a program of the operator, once, and its replies are the replies. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { decode, encode } from '@msgpack/msgpack'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { ADMIN, ALICE, bearer, post, signIn } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { json, type RemoteProgram, startProgram } from '../support/remote-program.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { connect, type StreamClient } from '../support/stream-client.ts'
import { until } from '../support/until.ts'

const PLACE = { Controller: 'Orders', Topic: 'Place', TransactionID: 7 }

let program: RemoteProgram
let server: TestServer
let trader: string
let admin: string
let stream: StreamClient
let leave: () => Promise<void>
let folder: string

before(async () => {
  program = await startProgram()
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-remote-'))
  await writeFile(
    join(folder, 'gate.yaml'),
    `controllers:
  - name: Orders
    class: Trading
    url: ${program.url}
    topics: [{ name: Place, needs: Platform/Trading }, { name: Halt, needs: Platform/Admin }, { name: Who/*, needs: identity }]
    timeout: 5 seconds
`,
  )
  const opened = await openPlace('sqlite')
  leave = opened.leave
  server = await startTestServer(opened.place, {
    flags: { '--demo': 'true', '--config': join(folder, 'gate.yaml'), '--stream-drain-time': '0.1' },
  })
  trader = (await signIn(server, ALICE)).access_token
  admin = (await signIn(server, ADMIN)).access_token
  stream = await connect(server.port, bearer(trader))
})
after(async () => {
  await server.stop()
  await program.stop()
  await leave()
  await rm(folder, { recursive: true })
})

function administer(method: string, path: string, body?: object, token = admin): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.port}/admin/controllers${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** A new controller, once streams can use it. */
async function declare(name: string, definition: object): Promise<void> {
  assert.equal((await administer('PUT', `/${name}`, definition)).status, 201)
  await until('it can be used', 500, async () => {
    const topics = await fetch(`http://127.0.0.1:${server.port}/Platform/topics`, bearer(trader))
    return (await topics.text()).includes(`"controller":"${name}"`)
  })
}

const TOPICS = [{ name: 'Place', needs: 'Platform/Trading' }]

test('a request is posted with a token for this call, and the reply keeps every digit in both directions', async () => {
  program.answer = json('{"id":12345678901234567890,"price":101.2500}')
  const arrived = program.next()
  stream.send(
    '{"Controller":"Orders","Topic":"Place","TransactionID":90071992547409931,"\\u0044ata":{"price":0.10,"qty":1e400,"ref":[1.000,98765432109876543210]},"Confirm":false}',
  )
  assert.equal(
    await stream.nextText(),
    '{"Controller":"Orders","Topic":"Place","Action":"Publish","TransactionID":90071992547409931,"Data":{"id":12345678901234567890,"price":101.2500}}',
  )
  const { method, headers, body } = await arrived
  assert.equal(
    body,
    '{"Controller":"Orders","Topic":"Place","TransactionID":90071992547409931,"Data":{"price":0.10,"qty":1e400,"ref":[1.000,98765432109876543210]}}',
  )
  assert.deepEqual([method, headers['content-type']], ['POST', 'application/json'])
  const [scheme, token = ''] = headers.authorization?.split(' ') ?? []
  assert.equal(scheme, 'Bearer')

  const keys = createRemoteJWKSet(new URL(`http://127.0.0.1:${server.port}/.well-known/openid-configuration/jwks`))
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: server.issuer,
    audience: program.url,
    typ: 'call+jwt',
    algorithms: ['RS256'],
  })
  const own = JSON.parse(Buffer.from(trader.split('.')[1] ?? '', 'base64url').toString())
  assert.equal(protectedHeader.alg, 'RS256')
  assert.deepEqual([payload.sub, payload.client_id, payload.role], [own.sub, 'demo-cli', own.role])
  assert.deepEqual(String(payload.scope).split(' ').sort(), own.scope.split(' ').sort())
  assert.equal(payload.jti, headers['x-request-id'])
  assert.ok((payload.exp ?? 0) - (payload.iat ?? 0) <= 60)

  // It is worth nothing at our own services.
  await assert.rejects(connect(server.port, bearer(token)), /401/)
  const anonymous = await connect(server.port)
  const data = { Provider: 'Bearer', AccessToken: token }
  const rejected = await anonymous.request({ Controller: 'Auth', Topic: 'AuthToken', TransactionID: 1, Data: data })
  assert.deepEqual(rejected.Data, { Result: 'Reject' })
  anonymous.socket.terminate()
  assert.equal((await administer('GET', '', undefined, token)).status, 401)
  const userinfo = await fetch(`http://127.0.0.1:${server.port}/connect/userinfo`, bearer(token))
  assert.equal(userinfo.status, 401)
  const signOut = await post(server, '/connect/endsession', { id_token_hint: token })
  assert.equal(signOut.status, 400)
})

test('MessagePack keeps integers of 64 bits, and refuses what JSON does not have; traceparent is passed on', async () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`
  const headers = { ...bearer(trader).headers, traceparent }
  const client = await connect(server.port, { headers, protocols: ['PlatformMsgPack'] })
  program.answer = json('{"id":9007199254740993}')
  const send = (message: object) => client.send(Buffer.from(encode(message, { useBigInt64: true })))
  const arrived = program.next()
  send({ ...PLACE, Data: { qty: 9007199254740993n } })
  assert.equal(
    (await arrived).body,
    '{"Controller":"Orders","Topic":"Place","TransactionID":7,"Data":{"qty":9007199254740993}}',
  )
  assert.equal(program.requests.at(-1)?.headers.traceparent, traceparent)
  const reply = decode(await client.nextBytes(), { useBigInt64: true }) as { Data: unknown }
  assert.deepEqual(reply.Data, { id: 9007199254740993n })
  send({ ...PLACE, Data: new Uint8Array(2) })
  assert.equal((decode(await client.nextBytes()) as { Data: unknown }).Data, 'Data.Deserialise Data')
  client.socket.terminate()
})

test('replies that are no answer are errors, and no request is repeated', async () => {
  const problem = JSON.stringify({ title: 'Refused', detail: 'The limit of the account is reached', status: 422 })
  const cases: readonly [name: string, answer: RemoteProgram['answer'], error: string][] = [
    ['problem', json(problem, 422, 'application/problem+json'), 'Data The limit of the account is reached'],
    ['title', json('{"title":"Refused"}', 400, 'application/problem+json; charset=utf-8'), 'Data Refused'],
    ['4xx', json('{}', 404), 'Fault'],
    ['5xx', json(problem, 500, 'application/problem+json'), 'Fault'],
    ['201', json('{}', 201), 'Fault'],
    ['redirect', (_r, response) => response.writeHead(307, { location: program.url }).end(), 'Fault'],
    ['html', json('<p>', 200, 'text/html'), 'Fault'],
    ['not JSON', json('{'), 'Fault'],
    ['too long', json(`"${'x'.repeat(1024 * 1024)}"`), 'Fault'],
    ['compressed', (_r, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'), 'Fault'],
    ['reset', (_r, response) => response.destroy(), 'Fault'],
    [
      'torn',
      (_r, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '10' }).write('{"a"')
        setTimeout(() => response.destroy(), 20)
      },
      'Fault',
    ],
  ]
  for (const [name, answer, error] of cases) {
    program.answer = answer
    const before = program.requests.length
    const reply = await stream.request({ ...PLACE, Data: { name } })
    assert.deepEqual([name, reply.Action, reply.Data], [name, 'Error', error])
    assert.equal(program.requests.length, before + 1, name)
  }
  const id = program.requests.at(-1)?.headers['x-request-id']
  assert.ok(server.log.some((line) => line.includes(`"requestId":"${id}"`) && line.includes('remote controller')))
})

test('a kept connection is used again; one that breaks during a request is an error, and nothing is sent twice', async () => {
  program.answer = json('{}')
  await stream.request(PLACE)
  const opened = program.connections
  await stream.request(PLACE)
  assert.equal(program.connections, opened)
  // Closed by the other side while idle: the next request gets a new connection.
  program.closeConnections()
  await pause(50)
  assert.deepEqual((await stream.request(PLACE)).Data, {})
  const before = program.requests.length
  program.answer = () => program.closeConnections()
  assert.equal((await stream.request(PLACE)).Data, 'Fault')
  await pause(50)
  assert.equal(program.requests.length, before + 1)
})

test('Cancel and the end of the connection end the request to the program', async () => {
  program.answer = () => {}
  let arrived = program.next()
  stream.send(PLACE)
  let request = await arrived
  stream.send({ Action: 'Cancel', TransactionID: 7 })
  assert.equal((await stream.next()).Data, 'Operation.Abort')
  await request.closed
  const other = await connect(server.port, bearer(trader))
  arrived = program.next()
  other.send(PLACE)
  request = await arrived
  other.socket.terminate()
  await request.closed
})

test('rights and topics are checked here, and the program is not asked', async () => {
  program.answer = json('{"ok":true}')
  const before = program.requests.length
  assert.equal((await stream.request({ ...PLACE, Topic: 'Halt' })).Data, 'Authority')
  assert.equal((await stream.request({ ...PLACE, Topic: 'Nothing' })).Data, 'Operation.Unknown Nothing')
  assert.equal((await stream.request({ ...PLACE, Action: 'Sub' })).Data, 'Operation.Unknown Place')
  const anonymous = await connect(server.port)
  assert.equal((await anonymous.request({ ...PLACE, Topic: 'Who/am/I' })).Data, 'Authority')
  anonymous.socket.terminate()
  assert.equal(program.requests.length, before)
  assert.deepEqual((await stream.request({ ...PLACE, Topic: 'Who/am/I' })).Data, { ok: true })
})

test('a controller is declared, changed and removed while clients are connected', async () => {
  const feeds = await connect(server.port, { ...bearer(trader), path: '/Platform?version=2.0' })
  const listed = async () => JSON.stringify((await feeds.next()).Data)
  feeds.send({ Topic: 'Feeds', Action: 'Sub' })
  assert.match(await listed(), /"Name":"Orders","Class":"Trading","Status":"Active"/)
  const slow = { ...PLACE, Controller: 'Slow' }
  assert.equal((await stream.request(slow)).Data, 'Controller Slow')
  const made = await administer('PUT', '/Slow', { url: program.url, topics: TOPICS, timeout: '300 milliseconds' })
  assert.deepEqual(
    [made.status, await made.json()],
    [
      201,
      {
        name: 'Slow',
        class: 'Channel',
        url: program.url,
        topics: TOPICS,
        timeout: '300 milliseconds',
        concurrency: 64,
      },
    ],
  )
  assert.match(await listed(), /"Name":"Slow"/)
  program.answer = () => {}
  const arrived = program.next()
  const started = performance.now()
  assert.equal((await stream.request(slow)).Data, 'Operation.Timeout')
  assert.ok(performance.now() - started < 2_000)
  await (await arrived).closed

  const renamed = [{ name: 'Other', needs: 'Platform/Trading' }]
  assert.equal((await administer('PUT', '/Slow', { url: program.url, topics: renamed })).status, 200)
  await listed()
  assert.equal((await stream.request(slow)).Data, 'Operation.Unknown Place')
  assert.equal((await administer('DELETE', '/Slow')).status, 204)
  assert.doesNotMatch(await listed(), /"Name":"Slow"/)
  assert.equal((await stream.request(slow)).Data, 'Controller Slow')
  assert.equal((await administer('GET', '/Slow')).status, 404)
  feeds.socket.terminate()
  const audited = await fetch(`http://127.0.0.1:${server.port}/admin/audit?event=controller`, bearer(admin))
  const { items } = (await audited.json()) as { items: { event: string; target: string }[] }
  assert.deepEqual(
    items.map(({ event, target }) => `${event} ${target}`),
    ['controller.deleted Slow', 'controller.changed Slow', 'controller.created Slow'],
  )
})

test('names that are taken, other faults and callers who are not operators are refused', async () => {
  const good = { url: program.url, topics: TOPICS }
  const fault = async (name: string, body: object) => {
    const reply = await administer('PUT', `/${name}`, body)
    const { detail } = (await reply.json()) as { detail: string }
    return `${reply.status} ${detail}`
  }
  assert.match(await fault('Auth', good), /^422 name: Auth is the name of a built-in controller/)
  assert.match(await fault('a-b', good), /^422 name: must consist of/)
  assert.match(await fault('X', { ...good, url: 'ftp://x' }), /^422 url: an http or https URL/)
  assert.match(await fault('X', { ...good, url: 'http://u:p@x/' }), /^422 url: a user or password/)
  assert.match(await fault('X', { ...good, topics: [] }), /^422 topics/)
  assert.match(
    await fault('X', { ...good, topics: [{ name: 'Configure', needs: 'identity' }] }),
    /^422 topics\[0\]\.name: every/,
  )
  assert.match(await fault('X', { ...good, topics: [{ name: 'A', needs: 'Platform/Tradin' }] }), /Platform\/Trading/)
  assert.match(await fault('X', { ...good, topics: [{ name: 'A', needs: 'nothing' }] }), /^422 topics\[0\]\.needs/)
  assert.match(await fault('X', { ...good, timeout: '2 hours' }), /^422 timeout/)
  for (const [method, path] of [
    ['PUT', '/X'],
    ['DELETE', '/Orders'],
    ['GET', ''],
  ] as const)
    assert.equal((await administer(method, path, method === 'PUT' ? good : undefined, trader)).status, 403)
  const listed = (await (await administer('GET', '')).json()) as { items: { name: string; timeout: string }[] }
  assert.deepEqual(
    listed.items.map(({ name, timeout }) => [name, timeout]),
    [['Orders', '5 seconds']],
  )
})

test('requests at once are bounded, and one user cannot take all slots', async () => {
  await declare('Narrow', { url: program.url, topics: TOPICS, concurrency: 2 })
  const narrow = { ...PLACE, Controller: 'Narrow' }
  const hold = Promise.withResolvers<void>()
  program.answer = async (request, response) => {
    await hold.promise
    json('{}')(request, response)
  }
  const before = program.requests.length
  const own = await Promise.all([1, 2, 3].map(() => connect(server.port, bearer(trader))))
  for (const client of own) client.send(narrow)
  await until('the first request', 100, () => program.requests.length === before + 1)
  await pause(50)
  assert.equal(program.requests.length, before + 1)
  const other = await connect(server.port, bearer(admin))
  other.send({ ...narrow })
  await until('the request of the other user', 100, () => program.requests.length === before + 2)
  hold.resolve()
  for (const client of [...own, other]) assert.deepEqual((await client.next()).Data, {})
  for (const client of [...own, other]) client.socket.terminate()
  const metrics = await (await fetch(`http://127.0.0.1:${server.port}/metrics`, bearer(admin))).text()
  assert.match(metrics, /gatehouse_remote_calls_total\{controller="Narrow",outcome="ok"\} 4/)
  assert.match(metrics, /gatehouse_remote_calls\{controller="Narrow",state="running"\} 0/)
})

test('requests for which there is no place in the queue are Limited, and those that wait end with the timeout', async () => {
  await declare('Single', { url: program.url, topics: TOPICS, concurrency: 1, timeout: '1 second' })
  program.answer = () => {}
  const before = program.requests.length
  const clients = await Promise.all(Array.from({ length: 18 }, () => connect(server.port, bearer(trader))))
  const replies = clients.map((client) => client.request({ ...PLACE, Controller: 'Single' }))
  const errors = (await Promise.all(replies)).map(({ Data }) => String(Data)).sort()
  assert.deepEqual(errors, ['Limited requests to this controller', ...Array(17).fill('Operation.Timeout')])
  // Those that began to wait last may be sent when the first one has ended, for what is left of their second.
  const sent = program.requests.length - before
  assert.ok(sent >= 1 && sent <= 4, `${sent} requests were sent`)
  for (const client of clients) client.socket.terminate()
})

test('a program is reached by TLS: with HTTP/2 on one connection if it offers that, else with HTTP/1.1', async () => {
  for (const [protocol, version] of [
    ['h2', '2.0'],
    ['https', '1.1'],
  ] as const) {
    const secure = await startProgram(protocol)
    await declare(`Secure.${protocol}`, { url: secure.url, topics: TOPICS, timeout: '3 seconds' })
    const request = { ...PLACE, Controller: `Secure.${protocol}`, Data: 1.5 }
    secure.answer = json('1.50')
    stream.send(request)
    assert.match(await stream.nextText(), /"Data":1\.50\}$/)
    stream.send(request)
    await stream.next()
    assert.deepEqual(
      secure.requests.map(({ httpVersion }) => httpVersion),
      [version, version],
    )
    if (protocol === 'h2') assert.equal(secure.connections, 1)
    secure.answer = json('{"detail":"No"}', 409, 'application/problem+json')
    assert.equal((await stream.request(request)).Data, 'Data No')
    secure.answer = (_r, response) => response.destroy()
    assert.equal((await stream.request(request)).Data, 'Fault')
    secure.answer = () => {}
    const arrived = secure.next()
    stream.send(request)
    const { closed } = await arrived
    stream.send({ Action: 'Cancel', TransactionID: 7 })
    assert.equal((await stream.next()).Data, 'Operation.Abort')
    await closed
    assert.equal(secure.requests.length, 5)
    secure.closeConnections()
    secure.answer = json('{}')
    await pause(50)
    assert.deepEqual((await stream.request(request)).Data, {})
    await secure.stop()
    assert.equal((await stream.request(request)).Data, 'Fault')
  }
})

test('a file whose controller has the name of a loaded module is refused at the start', async (t) => {
  const { place, leave: leaveIt } = await openPlace('sqlite')
  t.after(leaveIt)
  const file = join(folder, 'taken.yaml')
  const topics = '[{ name: Place, needs: identity }]'
  await writeFile(file, `controllers: [{ name: Ticker, url: "http://localhost/", topics: ${topics} }]`)
  const modules = fileURLToPath(new URL('../../examples/ticker', import.meta.url))
  await assert.rejects(
    startTestServer(place, { flags: { '--config': file, '--stream-controllers': modules } }),
    /controllers\[0\]\.name: Ticker is the name of a controller that the server has loaded/,
  )
})
