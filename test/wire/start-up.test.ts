/** The beginning of connections by PostgreSQL's protocol: encryption, versions, databases, and what hostile clients send. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { createCertificate, writeCertificate } from '../support/certificate.ts'
import { ALICE } from '../support/demo-user.ts'
import { openPlace } from '../support/engines.ts'
import { startTestServer, type TestServer, useServer } from '../support/server.ts'
import {
  errorFields,
  GSSENC_REQUEST,
  message,
  packet,
  password,
  SSL_REQUEST,
  signInTo,
  startUp,
  WireClient,
} from '../support/wire-client.ts'

describe('without a certificate', () => {
  const server = useServer({ flags: { '--demo': 'true', '--wire-port': '0' } })
  const port = (): number => server.wirePort ?? 0

  test('SSLRequest and GSSENCRequest are answered with N, once each, and the start-up follows', async () => {
    const client = await WireClient.open(port())
    client.send(GSSENC_REQUEST)
    assert.equal(String(await client.bytes(1)), 'N')
    client.send(SSL_REQUEST)
    assert.equal(String(await client.bytes(1)), 'N')
    client.send(startUp({ user: 'alice' }))
    assert.equal((await client.reply())?.type, 'R')
    client.close()
    for (const request of [SSL_REQUEST, GSSENC_REQUEST]) {
      const twice = await WireClient.open(port())
      twice.send(request)
      await twice.bytes(1)
      twice.send(request)
      assert.equal((await twice.error()).C, '08P01')
      await twice.closed()
    }
  })

  test('bytes before the answer to SSLRequest end the connection', async () => {
    const client = await WireClient.open(port())
    client.send(SSL_REQUEST, startUp({ user: 'alice' }))
    assert.equal((await client.error()).C, '08P01')
    await client.closed()
  })

  test('TLS from the first byte ends the connection', async () => {
    const client = await WireClient.open(port())
    client.send(Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3]))
    await client.closed()
  })

  test('protocols 3.0 and 3.2 are spoken; the key has 4 bytes in 3.0 and 32 in 3.2', async () => {
    for (const [version, length] of [
      [0x30000, 4],
      [0x30002, 32],
    ] as const) {
      const { client, replies } = await signInTo(port(), ALICE.username, ALICE.password, {}, version)
      assert.equal(
        replies.find(({ type }) => type === 'v'),
        undefined,
      )
      assert.equal(replies.find(({ type }) => type === 'K')?.body.length, 4 + length)
      assert.equal(replies.at(-1)?.type, 'Z')
      client.close()
    }
  })

  test('other minor versions and unknown options get NegotiateProtocolVersion', async () => {
    for (const [asked, offered] of [
      [0x30001, 0x30000],
      [0x30003, 0x30002],
      [0x3270f, 0x30002],
    ] as const) {
      const client = await WireClient.open(port())
      client.send(startUp({ user: 'alice', '_pq_.colour': 'blue' }, asked))
      const reply = await client.reply()
      assert.equal(reply?.type, 'v')
      assert.equal(reply.body.readUInt32BE(0), offered)
      assert.equal(reply.body.readUInt32BE(4), 1)
      assert.equal(String(reply.body.subarray(8)), '_pq_.colour\0')
      assert.equal((await client.reply())?.type, 'R')
      client.close()
    }
  })

  test('protocol 2.0, replication, unknown databases and a missing user are refused before a password is asked for', async () => {
    for (const [first, code] of [
      [startUp({ user: 'alice' }, 0x20000), '0A000'],
      [startUp({ user: 'alice', replication: 'database' }), '0A000'],
      [startUp({ user: 'alice', application_name: 'pg_dump' }), '0A000'],
      [startUp({ user: 'alice', application_name: 'pg_dumpall' }), '0A000'],
      [startUp({ user: 'alice', database: 'shop' }), '3D000'],
      [startUp({ database: 'gatehouse' }), '28000'],
    ] as const) {
      const client = await WireClient.open(port())
      client.send(first)
      const reply = await client.reply()
      assert.equal(reply?.type, 'E')
      assert.equal(errorFields(reply.body).C, code)
      assert.equal(errorFields(reply.body).S, 'FATAL')
      await client.closed()
    }
  })

  test('gatehouse, postgres and the name of the user mean the one database', async () => {
    for (const database of ['gatehouse', 'postgres', 'alice']) {
      const client = await WireClient.open(port())
      client.send(startUp({ user: 'alice', database, replication: 'false' }))
      assert.equal((await client.reply())?.type, 'R')
      client.close()
    }
  })

  test('length bombs and packets that are no packets end the connection with 08P01', async () => {
    const long = Buffer.alloc(8)
    long.writeUInt32BE(0x7fffffff, 0)
    for (const first of [
      long,
      packet(0x30000, Buffer.alloc(9_993)),
      Buffer.from('GET / HTTP/1.1\r\nHost: gate\r\n\r\n'),
      packet(0x30000, Buffer.from('user')),
      packet(0x30000, Buffer.from('user\0alice\0\0more')),
      packet(0x30000, Buffer.from([...Buffer.from('user\0'), 0xff, 0xfe, 0, 0])),
      packet(80877102, Buffer.alloc(300)),
      packet(80877102, Buffer.alloc(5)),
      packet(80877103, Buffer.alloc(4)),
    ]) {
      const client = await WireClient.open(port())
      client.send(first)
      assert.equal((await client.error()).C, '08P01', String(first.subarray(0, 20)))
      await client.closed()
    }
  })

  test('before the sign-in, a statement ends the connection', async () => {
    const client = await WireClient.open(port())
    client.send(startUp({ user: 'alice' }), message('Q', 'SELECT 1\0'))
    assert.equal((await client.error()).C, '08P01')
    await client.closed()
  })

  test('a password of more than 64 KiB is refused from its length', async () => {
    const client = await WireClient.open(port())
    client.send(startUp({ user: 'alice' }))
    await client.reply()
    const head = Buffer.from('p\0\0\0\0')
    head.writeUInt32BE(70_000, 1)
    client.send(head)
    assert.equal((await client.error()).C, '08P01')
    await client.closed()
  })

  test('messages in pieces of one byte are read', async () => {
    const client = await WireClient.open(port())
    for (const byte of startUp({ user: ALICE.username })) client.send(Buffer.from([byte]))
    assert.equal((await client.reply())?.type, 'R')
    for (const byte of password(ALICE.password)) {
      client.send(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    assert.equal((await client.repliesTo('Z')).at(-1)?.type, 'Z')
    client.close()
  })
})

describe('with a certificate', () => {
  let server: TestServer
  let folder: string
  let leave: () => Promise<void>
  let openFlags: Record<string, string>
  const port = (): number => server.wirePort ?? 0
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((each) => each !== undefined && each.family === 'IPv4' && !each.internal)?.address

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-wire-'))
    const { certFile, keyFile } = await writeCertificate(createCertificate(['localhost', '127.0.0.1']), folder)
    const tls = { '--wire-port': '0', '--tls-certificate': certFile, '--tls-key': keyFile }
    const opened = await openPlace('sqlite')
    leave = opened.leave
    server = await startTestServer(opened.place, { flags: { '--demo': 'true', ...tls } })
    openFlags = { ...tls, '--wire-host': '0.0.0.0' }
  })
  after(async () => {
    await server.stop()
    await leave()
    await rm(folder, { recursive: true })
  })

  test('SSLRequest is answered with S, and the sign-in goes on under TLS', async () => {
    const plain = await WireClient.open(port())
    plain.send(SSL_REQUEST)
    assert.equal(String(await plain.bytes(1)), 'S')
    const client = await plain.encrypted()
    client.send(startUp({ user: ALICE.username }))
    assert.equal((await client.reply())?.type, 'R')
    client.send(password(ALICE.password))
    assert.equal((await client.repliesTo('Z')).at(-1)?.type, 'Z')
    client.send(message('Q', 'SELECT 1\0'))
    assert.equal((await client.repliesTo('Z')).at(-1)?.type, 'Z')
    client.close()
  })

  test('a client of TLS 1.2 cannot begin another handshake', async () => {
    const socket = connectTls({
      ...{ port: port(), host: '127.0.0.1', rejectUnauthorized: false },
      ...{ ALPNProtocols: ['postgresql'], maxVersion: 'TLSv1.2' },
    })
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    let isRenegotiated = false
    socket.renegotiate({ rejectUnauthorized: false }, (error) => {
      isRenegotiated = error === null
    })
    // The request is ignored.
    await sleep(500)
    socket.destroy()
    assert.equal(isRenegotiated, false)
  })

  test('TLS from the first byte needs the protocol postgresql', async () => {
    const named = connectTls({
      port: port(),
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ALPNProtocols: ['postgresql'],
    })
    const client = new WireClient(named)
    client.send(startUp({ user: ALICE.username }))
    assert.equal((await client.reply())?.type, 'R')
    client.close()
    const bare = new WireClient(connectTls({ port: port(), host: '127.0.0.1', rejectUnauthorized: false }))
    bare.send(startUp({ user: ALICE.username }))
    assert.equal(await bare.reply(), undefined)
    const other = new WireClient(
      connectTls({ port: port(), host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] }),
    )
    assert.equal(await other.reply(), undefined)
  })

  test('a second SSLRequest under TLS, and bytes stuffed before the handshake, end the connection', async () => {
    const plain = await WireClient.open(port())
    plain.send(SSL_REQUEST)
    await plain.bytes(1)
    const client = await plain.encrypted()
    client.send(SSL_REQUEST)
    assert.equal((await client.error()).C, '08P01')
    const stuffed = await WireClient.open(port())
    stuffed.send(SSL_REQUEST, startUp({ user: 'alice' }))
    assert.equal((await stuffed.error()).C, '08P01')
    await stuffed.closed()
  })

  test('from another machine, a start-up without TLS is refused with 28000 before a password is asked for', {
    skip: outside === undefined && 'this machine has loopback only',
  }, async () => {
    const opened = await openPlace('sqlite')
    const open = await startTestServer(opened.place, { flags: openFlags })
    const client = await WireClient.open(open.wirePort ?? 0, outside)
    client.send(startUp({ user: ALICE.username }))
    const reply = await client.reply()
    assert.equal(reply?.type, 'E')
    assert.equal(errorFields(reply.body).C, '28000')
    await client.closed()
    await open.stop()
    await opened.leave()
  })
})
