/** `dpop()` of the client library against the real server: requests, nonces, refreshes and the stream. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { calculateJwkThumbprint } from 'jose'
import type { AuthEnv } from '../../packages/client/src/auth/token-source.ts'
import { createKey, dpop } from '../../packages/client/src/dpop.ts'
import { clientCredentials, Gatehouse, password } from '../../packages/client/src/index.ts'
import { ALICE } from '../support/demo-user.ts'
import { decodeClaims } from '../support/identity.ts'
import { useServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const server = useServer({ flags: { '--demo': 'true', '--stream-drain-time': '0', '--access-token-lifetime': '4' } })
const alice = password({ clientId: 'demo-cli', ...ALICE })
const gates: { close(): void }[] = []
after(() => {
  for (const gate of gates) gate.close()
})

/** With what is sent, as lines. */
function open(auth: ReturnType<typeof password>): { gate: Gatehouse; sent: string[] } {
  const sent: string[] = []
  const spy: typeof fetch = async (url, init) => {
    const { authorization = '', dpop: proof } = Object.fromEntries(new Headers(init?.headers))
    const reply = await fetch(url, init)
    const { pathname } = new URL(String(url))
    sent.push(
      `${pathname} ${authorization.split(' ')[0]} ${proof === undefined ? 'no proof' : 'proof'} ${reply.status}`,
    )
    return reply
  }
  const gate = new Gatehouse(server.issuer, { auth, fetch: (url, init) => spy(url, init), attempts: 1 })
  gates.push(gate)
  return { gate, sent }
}

test('the token is bound to a key; a nonce is asked for once and used from then on', async () => {
  const { gate, sent } = open(dpop(alice))
  const token = await gate.auth.token()
  assert.ok(decodeClaims(token).cnf)
  await gate.query`select symbol from instruments limit 1`
  await gate.query`select symbol from instruments limit 1`
  assert.deepEqual(sent.slice(1), [
    '/connect/token  proof 400',
    '/connect/token  proof 200',
    '/query DPoP proof 200',
    '/query DPoP proof 200',
  ])
  assert.match(sent[0] ?? '', /openid-configuration .*no proof/)
  const stolen = await fetch(`${server.issuer}/feeds`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(stolen.status, 401)
})

test('a confidential client needs no nonce, and the key may be given', async () => {
  const source = clientCredentials({ clientId: 'demo-service', clientSecret: 'demo-service-secret' })
  const key = await createKey()
  const { gate, sent } = open(dpop(source, { key: async () => key }))
  // A server asks for a nonce where a proof could be older than its start: their times are whole seconds.
  await sleep(1100)
  await gate.query`select symbol from instruments limit 1`
  assert.deepEqual(sent.slice(1), ['/connect/token  proof 200', '/query DPoP proof 200'])
})

test('RFC 9449 §10: codes are bound to the thumbprint of the key, unless the page would come back with another one', async () => {
  const key = await createKey()
  let given: AuthEnv | undefined
  const source = dpop(
    (env) => {
      given = env
      return { token: async () => '' }
    },
    { key: async () => key },
  )
  const endpoint = async () => ''
  source({ issuer: server.issuer, fetch, metadata: async () => ({}), endpoint })
  const jwk = await crypto.subtle.exportKey('jwk', key.publicKey as never)
  assert.equal(await given?.thumbprint?.(false), await calculateJwkThumbprint({ ...jwk, kty: 'EC' }))
  assert.equal(await given?.thumbprint?.(true), undefined)
})

test('the stream signs in with a proof, and renews with another', async () => {
  const { gate, sent } = open(dpop(alice))
  const states: string[] = []
  gate.on('state', ({ state, reason }) => states.push(`${state} ${reason}`))
  const live = gate.live`select symbol from instruments order by symbol limit 2`
  const rows = live[Symbol.asyncIterator]()
  await rows.next()
  await until('it is connected', 5_000, () => states.includes('online connected'))
  const isNewToken = () => sent.filter((line) => line.startsWith('/connect/token  proof 200')).length > 1
  await until('the token is renewed', 5_000, isNewToken)
  await gate.query`select symbol from instruments limit 1`
  await rows.return?.()
  await until('the stream has the new token', 5_000, async () => {
    const { Result } = await gate.stream.request<{ Result: string }>('Auth', 'QueryIdentify')
    return Result === 'Success'
  })
  assert.ok(!states.some((state) => state.startsWith('offline')), states.join(', '))
})
