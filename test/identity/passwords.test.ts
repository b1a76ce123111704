/** Passwords under load and under attack: checklist C-110 to C-112. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTurnstile } from '../../src/identity/turnstile.ts'
import { hashPassword } from '../../src/store/password-hash.ts'
import { onEveryEngine } from '../support/engines.ts'
import { PASSWORD, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'

test('the turnstile lets a few through at once, makes a few wait, turns the rest away, and recovers', async () => {
  const turnstile = createTurnstile(2, 3)
  let most = 0
  const leave: (() => void)[] = []
  const work = () => {
    most = Math.max(most, turnstile.running)
    return new Promise<string>((resolve) => leave.push(() => resolve('done')))
  }
  const entered = Array.from({ length: 8 }, () => turnstile.enter(work))
  assert.deepEqual([turnstile.running, turnstile.waiting], [2, 3])
  while (leave.length > 0) {
    leave.shift()?.()
    await new Promise(setImmediate)
  }
  const results = await Promise.all(entered)
  assert.equal(results.filter((result) => result === 'full').length, 3)
  assert.equal(most, 2)
  assert.deepEqual(await turnstile.enter(async () => 7), { result: 7 })
  await assert.rejects(turnstile.enter(() => Promise.reject(new Error('x'))))
  assert.equal(turnstile.running, 0)
})

onEveryEngine('passwords', (place) => {
  let gate: TestGate
  const clock = createTestClock()
  before(async () => {
    gate = await startGate(place(), { clock, flags: { '--trusted-proxies': '127.0.0.1' } })
  })
  after(() => gate.stop())

  const attempt = async (username: string, password: string, address: string): Promise<boolean> => {
    const form = { grant_type: 'password', client_id: 'cli', username, password }
    const answer = await gate.post('/connect/token', form, { 'x-forwarded-for': address })
    if (answer.status !== 200) assert.equal(answer.body.error, 'invalid_grant')
    return answer.status === 200
  }

  test('C-111: strangers cannot lock an account out: where its owner signed in before, the owner still can', async () => {
    const home = '198.51.100.7'
    assert.equal(await attempt('alice', PASSWORD, home), true)
    for (let count = 0; count < 60; count++) await attempt('alice', 'guess', `203.0.113.${count}`)
    assert.equal(await attempt('alice', PASSWORD, '192.0.2.1'), false)
    assert.equal(await attempt('alice', PASSWORD, home), true)
    clock.advance(60_000)
    assert.equal(await attempt('alice', PASSWORD, '192.0.2.1'), true)
  })

  test('C-111: one address trying one password on many accounts is slowed down, and others are not', async () => {
    const sprayer = '203.0.113.250'
    for (let count = 0; count < 55; count++) await attempt(`user-${count}`, 'Spring2026', sprayer)
    assert.equal(await attempt('boss', PASSWORD, sprayer), false)
    assert.equal(await attempt('boss', PASSWORD, '192.0.2.77'), true)
    clock.advance(300_000)
    assert.equal(await attempt('boss', PASSWORD, sprayer), true)
  })

  test('C-111: all addresses of one IPv6 network count as one', async () => {
    const passwordHash = (await gate.stores.users.findById(gate.aliceId))?.passwordHash
    await gate.stores.users.create({ username: 'sixer', passwordHash })
    for (let count = 0; count < 8; count++) await attempt('sixer', 'guess', `2001:db8:1:2::${count}`)
    assert.equal(await attempt('sixer', PASSWORD, '2001:db8:1:2:ffff::1'), false)
    assert.equal(await attempt('sixer', PASSWORD, '2001:db8:1:3::1'), true)
  })

  test('C-112: a hash made with other parameters is replaced when its user signs in', async () => {
    // Argon2id with m=8, t=1 of the usual test password.
    const { hash } = await import('@node-rs/argon2')
    const weak = await hash(PASSWORD, { memoryCost: 8, timeCost: 1, parallelism: 1 })
    const id = await gate.stores.users.create({ username: 'veteran', passwordHash: weak })
    assert.equal(await attempt('veteran', PASSWORD, '192.0.2.9'), true)
    const renewed = (await gate.stores.users.findById(id))?.passwordHash ?? ''
    assert.match(renewed, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    assert.equal(await attempt('veteran', PASSWORD, '192.0.2.9'), true)
  })

  test('C-67: a password that was changed while it waited to be checked opens nothing', async () => {
    const id = await gate.stores.users.create({ username: 'hasty', passwordHash: await hashPassword(PASSWORD) })
    const changed = await hashPassword('another long password')
    // Enough to keep everybody behind them waiting until the change is made, however fast the machine hashes.
    const crowd = Array.from({ length: 60 }, (_, count) => attempt(`queue-${count}`, 'guess', `198.18.0.${count}`))
    const waiting = attempt('hasty', PASSWORD, '198.18.1.1')
    await setTimeout(100)
    clock.advance(1000)
    await gate.stores.users.setPassword(id, changed)
    assert.equal(await waiting, false)
    await Promise.all(crowd)
  })

  test('C-110: a storm of sign-ins is answered or refused as busy, never with a fault, and other requests go on', async () => {
    const storm = Array.from({ length: 100 }, (_, count) =>
      gate.post(
        '/connect/token',
        { grant_type: 'password', client_id: 'cli', username: `storm-${count}`, password: 'x' },
        { 'x-forwarded-for': `10.1.${count}.1` },
      ),
    )
    const began = performance.now()
    assert.equal((await gate.get('/.well-known/openid-configuration')).status, 200)
    assert.ok(performance.now() - began < 2000)
    for (const { status, body, headers } of await Promise.all(storm)) {
      if (status === 503) {
        assert.equal(body.error, 'temporarily_unavailable')
        assert.equal(headers.get('retry-after'), '1')
      } else assert.deepEqual([status, body.error], [400, 'invalid_grant'])
    }
  })
})
