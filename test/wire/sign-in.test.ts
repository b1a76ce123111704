/** Sign-in by PostgreSQL's protocol: the user's name decides what is asked for, and every refusal looks the same. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ADMIN, ALICE, bearer, post, signIn } from '../support/demo-user.ts'
import { useServer } from '../support/server.ts'
import { errorFields, message, type Reply, signInTo, startUp, WireClient } from '../support/wire-client.ts'
import { readySession, startWire } from '../support/wire-server.ts'

const server = useServer({ flags: { '--demo': 'true', '--wire-port': '0' } })
const port = (): number => server.wirePort ?? 0

/** Closed by the end of each test. */
async function outcome(user: string, secret: string): Promise<string> {
  const { client, replies } = await signInTo(port(), user, secret)
  client.close()
  return readCode(replies)
}

function readCode(replies: readonly Reply[]): string {
  const last = replies.at(-1)
  if (last?.type === 'Z') return 'signed in'
  return last?.type === 'E' ? (errorFields(last.body).C ?? '') : 'closed'
}

test('an access token is accepted as the password of "token", of its user and of its client, and of nobody else', async () => {
  const { access_token: token } = await signIn(server)
  for (const user of ['token', 'alice', 'Alice', 'demo-cli'])
    assert.equal(await outcome(user, token), 'signed in', user)
  for (const user of ['admin', 'demo-service']) assert.equal(await outcome(user, token), '28P01', user)
})

test('a client signs in with its secret', async () => {
  assert.equal(await outcome('demo-service', 'demo-service-secret'), 'signed in')
  // Not registered for client_credentials.
  assert.equal(await outcome('demo-web', 'demo-web-secret'), '28P01')
})

test('a user signs in with the password where wire_passwords is on', async () => {
  assert.equal(await outcome(ALICE.username, ALICE.password), 'signed in')
})

/** What the client sent decides the hint, and never what the server knows of the user or the token. */
const REFUSED = {
  password: [
    ['alice', 'wrong'],
    ['nobody', 'wrong'],
    ['demo-service', 'wrong'],
    ['alice', ''],
  ],
  'no token': [
    ['token', 'wrong'],
    ['token', ''],
  ],
  token: [
    ['token', 'a.b.c'],
    // The token of another audience is not one of the platform.
    ['oauth-less', 'x.y.z'],
  ],
} as const
const REFUSED_HINTS = {
  password: /^Check the name and the password/,
  'no token': /^The password of the user "token" is an access token/,
  token: /^The access token is expired or revoked.*"gatehouse token"$/,
} as const

for (const given of ['password', 'no token', 'token'] as const) {
  test(`every refusal of a sign-in with ${given} is 28P01 with the same text and the same hint`, async () => {
    const refused = []
    for (const [user, secret] of REFUSED[given]) {
      const { client, replies } = await signInTo(port(), user, secret)
      client.close()
      const last = replies.at(-1)
      assert.equal(last?.type, 'E', user)
      const { C, M, H } = errorFields(last.body)
      assert.deepEqual([C, M], ['28P01', 'The sign-in failed'])
      assert.match(H ?? '', REFUSED_HINTS[given])
      refused.push(last.body.toString('utf8'))
    }
    assert.equal(new Set(refused).size, 1)
  })
}

test('a token without a scope of the platform is refused', async () => {
  const reply = await post(server, '/connect/token', {
    grant_type: 'password',
    client_id: 'demo-cli',
    scope: 'openid',
    ...ALICE,
  })
  const { access_token: token } = (await reply.json()) as { access_token: string }
  assert.equal(await outcome('token', token), '28P01')
})

test('a user without a right on the platform is refused', async () => {
  const { access_token: token } = await signIn(server, ADMIN)
  const added = await fetch(`http://127.0.0.1:${server.port}/admin/users`, {
    method: 'POST',
    headers: { ...bearer(token).headers, 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'guest', password: 'a-guest-without-rights' }),
  })
  assert.equal(added.status, 201)
  assert.equal(await outcome('guest', 'a-guest-without-rights'), '28P01')
})

describe('OAUTHBEARER (RFC 7628)', () => {
  const initial = (text: string): Buffer => {
    const length = Buffer.alloc(4)
    length.writeInt32BE(text.length)
    return message('p', Buffer.concat([Buffer.from('OAUTHBEARER\0'), length, Buffer.from(text)]))
  }
  const begin = async (): Promise<WireClient> => {
    const client = await WireClient.open(port())
    client.send(startUp({ user: 'oauth', database: 'gatehouse' }))
    const reply = await client.reply()
    assert.equal(reply?.type, 'R')
    assert.equal(reply.body.readInt32BE(0), 10)
    assert.equal(String(reply.body.subarray(4)), 'OAUTHBEARER\0\0')
    return client
  }

  test('a token signs in', async () => {
    const { access_token: token } = await signIn(server)
    const client = await begin()
    client.send(initial(`n,,\x01auth=Bearer ${token}\x01\x01`))
    assert.equal((await client.repliesTo('Z')).at(-1)?.type, 'Z')
    client.close()
  })

  test('the client may let itself be asked first', async () => {
    const { access_token: token } = await signIn(server)
    const client = await begin()
    client.send(message('p', Buffer.concat([Buffer.from('OAUTHBEARER\0'), Buffer.from([255, 255, 255, 255])])))
    const asked = await client.reply()
    assert.equal(asked?.body.readInt32BE(0), 11)
    client.send(message('p', `n,,\x01auth=Bearer ${token}\x01\x01`))
    assert.equal((await client.repliesTo('Z')).at(-1)?.type, 'Z')
    client.close()
  })

  test('without a token, or with a wrong one, the client learns where tokens are issued', async () => {
    for (const auth of ['', 'Bearer a.b.c']) {
      const client = await begin()
      client.send(initial(`n,,\x01auth=${auth}\x01\x01`))
      const reply = await client.reply()
      assert.equal(reply?.type, 'R')
      assert.equal(reply.body.readInt32BE(0), 11)
      assert.deepEqual(JSON.parse(String(reply.body.subarray(4))), {
        status: 'invalid_token',
        'openid-configuration': `${server.issuer}/.well-known/openid-configuration`,
        scope: 'openid Platform/Market Platform/News Platform/Trading Platform/OrderPad Platform/Admin',
      })
      client.send(message('p', '\x01'))
      assert.equal((await client.error()).C, '28P01')
      await client.closed()
    }
  })

  test('messages that are none of the mechanism end the connection', async () => {
    for (const text of [
      '',
      'n,,',
      'p=tls-unique,,\x01auth=Bearer x\x01\x01',
      'n,,\x01auth=Basic x\x01\x01',
      'n,,\x01\x01',
    ]) {
      const client = await begin()
      client.send(initial(text))
      assert.equal((await client.error()).C, '08P01', JSON.stringify(text))
      await client.closed()
    }
  })

  test('the built-in client gets tokens by the device flow', async () => {
    const reply = await post(server, '/connect/deviceauthorization', {
      client_id: 'gatehouse-tools',
      scope: 'openid Platform/Market Platform/News Platform/Trading Platform/OrderPad Platform/Admin',
    })
    assert.equal(reply.status, 200)
    const refused = await post(server, '/connect/token', {
      grant_type: 'password',
      client_id: 'gatehouse-tools',
      ...ADMIN,
    })
    assert.equal(((await refused.json()) as { error: string }).error, 'unauthorized_client')
  })
})

test('after too many failures a sign-in is delayed with 53300, right or wrong', async () => {
  let code = ''
  for (let count = 0; count < 30 && code !== '53300'; count += 1) code = await outcome('mallory', 'wrong')
  assert.equal(code, '53300')
  assert.equal(await outcome('mallory', 'wrong again'), '53300')
})

test('passwords are off unless wire_passwords says otherwise, and the answer does not tell', async (context) => {
  const { openPlace } = await import('../support/engines.ts')
  const { startTestServer } = await import('../support/server.ts')
  const opened = await openPlace('sqlite')
  const other = await startTestServer(opened.place, {
    flags: { '--demo': 'true', '--wire-port': '0', '--wire-passwords': 'false' },
  })
  context.after(async () => {
    await other.stop()
    await opened.leave()
  })
  const { client, replies } = await signInTo(other.wirePort ?? 0, ALICE.username, ALICE.password)
  client.close()
  assert.equal(readCode(replies), '28P01')
  const machine = await signInTo(other.wirePort ?? 0, 'demo-service', 'demo-service-secret')
  machine.client.close()
  assert.equal(readCode(machine.replies), 'signed in')
})

describe('what runs statements is loaded', () => {
  test('by a sign-in that is accepted, and not by others', async (context) => {
    let loaded = 0
    const wire = await startWire(context, {
      async loadSessions() {
        loaded += 1
        return readySession
      },
    })
    const { replies } = await signInTo(wire.port, 'token', 'wrong')
    assert.deepEqual([readCode(replies), loaded], ['28P01', 0])
    const accepted = await signInTo(wire.port, 'token', await wire.mint.issue())
    assert.deepEqual([readCode(accepted.replies), loaded], ['signed in', 1])
    accepted.client.close()
  })

  test('a token that is revoked meanwhile is refused', async (context) => {
    const wire = await startWire(context, {
      async loadSessions() {
        await wire.publish({ kind: 'token-revoked', tokenId: 'revoked', expiresAt: Date.now() + 60_000 })
        return readySession
      },
    })
    const { replies } = await signInTo(wire.port, 'token', await wire.mint.issue({ tokenId: 'revoked' }))
    assert.equal(readCode(replies), '28P01')
    assert.deepEqual([...wire.wire.connections()], [])
  })

  test('two sign-ins for which it fails are closed, and a refusal meanwhile is recorded', async (context) => {
    const wire = await startWire(context, {
      loadSessions: () => Promise.reject(new Error('The file is damaged')),
    })
    const token = await wire.mint.issue()
    const [one, other, wrong] = await Promise.all(
      [token, token, 'wrong'].map((secret) => signInTo(wire.port, 'token', secret)),
    )
    assert.deepEqual(
      [one, other, wrong].map((each) => readCode(each?.replies ?? [])),
      ['closed', 'closed', '28P01'],
    )
    assert.equal(wire.log.filter((line) => line.includes('The file is damaged')).length, 2)
    assert.deepEqual(
      wire.audited.map(({ event }) => event),
      ['wire.refused'],
    )
    assert.deepEqual([...wire.wire.connections()], [])
  })
})
