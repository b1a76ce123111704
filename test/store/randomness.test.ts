/** Secrets and ids must not be guessable (C-33): 1,000 samples of each kind are long enough, balanced and without patterns. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createTokenId } from '../../packages/server/src/identity/tokens/issuer.ts'
import { createInteractions } from '../../packages/server/src/store/authorizations/interactions.ts'
import { newId } from '../../packages/server/src/store/keys/opaque.ts'
import { onSqlite } from '../support/engines.ts'
import { type OpenStores, openStores } from '../support/stores.ts'

const SAMPLES = 1000
const BITS = 128
const SIGN_IN = { amr: ['pwd'], userAgent: 'Test/1', address: '192.0.2.1' }

/** The values do not depend on the database. */
onSqlite('random values', (place) => {
  let open: OpenStores
  before(async () => {
    open = await openStores(place())
  })
  after(() => open.close())

  async function sample(generate: () => Promise<readonly string[]>): Promise<readonly string[][]> {
    const samples: (readonly string[])[] = []
    for (let count = 0; count < SAMPLES; count += 50)
      samples.push(...(await Promise.all(Array.from({ length: 50 }, generate))))
    const kinds = samples[0]?.length ?? 0
    return Array.from({ length: kinds }, (_, kind) => samples.map((values) => values[kind] ?? ''))
  }

  test('C-33: codes, refresh tokens and grant ids', async () => {
    const { grants, codes, refreshTokens } = open.stores
    const expiresAt = open.clock() + 86_400_000
    const samples = await sample(async () => {
      const grant = await grants.create({
        kind: 'authorization_code',
        clientId: 'web',
        userId: 'usr_1',
        sessionId: undefined,
        scopes: ['openid', 'offline_access'],
        authTime: open.clock(),
        details: { amr: ['pwd'] },
        expiresAt,
      })
      const code = await codes.issue(grant.id, { redirectUri: 'https://app.example/cb' }, 60_000)
      return [code, await refreshTokens.issue(grant, { idleMs: 86_400_000 }), grant.id]
    })
    for (const [index, values] of samples.entries()) assertRandom(['code', 'refresh token', 'grant'][index], values)
  })

  test('C-33: session cookies, sid, browser state, interaction handles', async () => {
    const flows = createInteractions<object>(open.database, open.clock)
    const samples = await sample(async () => {
      const { cookie, session } = await open.stores.sessions.open('usr_1', SIGN_IN)
      return [cookie, session.id, session.browserState, (await flows.begin({}, { address: '192.0.2.1' })).handle]
    })
    for (const [index, values] of samples.entries())
      assertRandom(['cookie', 'sid', 'browser state', 'handle'][index], values)
  })

  test('C-33: device codes and jti', async () => {
    const request = {
      clientId: 'tv',
      scopes: ['openid'],
      lifetimeMs: 600_000,
      intervalSeconds: 5,
      address: '192.0.2.1',
    }
    const samples = await sample(async () => {
      const { deviceCode } = await open.stores.deviceCodes.issue(request)
      return [deviceCode, createTokenId(undefined, open.clock())]
    })
    for (const [index, values] of samples.entries()) assertRandom(['device code', 'jti'][index], values)
  })
})

/** The bounds are more than six standard deviations out: chance does not exceed them, a counter or a clock does. */
function assertRandom(kind = '', values: readonly string[]): void {
  assert.equal(new Set(values).size, SAMPLES, `${kind}: a value repeats`)
  const all = values.map((value) => Buffer.from(value, 'base64url'))
  for (const bytes of all) assert.ok(bytes.length * 8 >= BITS, `${kind}: ${bytes.length} bytes`)
  for (let bit = 0; bit < BITS; bit++) {
    const set = all.filter((bytes) => readBit(bytes, bit)).length
    assert.ok(Math.abs(set - SAMPLES / 2) < 110, `${kind}: bit ${bit} is set in ${set} of ${SAMPLES}`)
    const turned = all.filter((bytes, index) => readBit(bytes, bit) !== readBit(all[(index + 1) % SAMPLES], bit)).length
    assert.ok(Math.abs(turned - SAMPLES / 2) < 110, `${kind}: bit ${bit} turns ${turned} times in ${SAMPLES}`)
  }
  let nearest = BITS
  for (const [index, one] of all.entries())
    for (const other of all.slice(index + 1)) nearest = Math.min(nearest, distance(one, other))
  assert.ok(nearest >= 22, `${kind}: two values differ in ${nearest} of ${BITS} bits only`)
}

function readBit(bytes: Buffer | undefined, bit: number): boolean {
  return (((bytes?.[bit >> 3] ?? 0) >> (bit & 7)) & 1) === 1
}

const SET_BITS = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)

function distance(one: Buffer, other: Buffer): number {
  let different = 0
  for (let index = 0; index < BITS / 8; index++) different += SET_BITS[(one[index] ?? 0) ^ (other[index] ?? 0)] ?? 0
  return different
}

test('an id never starts with a dash, which a command line takes for an option', () => {
  for (let count = 0; count < 2000; count++) assert.doesNotMatch(newId(), /^-/)
})
