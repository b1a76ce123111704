/** Passwords under load and under attack: checklist C-110 to C-112. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createSemaphore } from '../../packages/server/src/lib/semaphore.ts'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import { IN_LONG_RUNS, onEveryEngineInLongRuns } from '../support/engines.ts'
import { type Answer, PASSWORD, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'
import { until } from '../support/until.ts'

test('the semaphore limits concurrency, bounds its queue, and recovers', async () => {
  const semaphore = createSemaphore(2, 3)
  let most = 0
  const leave: (() => void)[] = []
  const work = () => {
    most = Math.max(most, semaphore.running)
    return new Promise<string>((resolve) => leave.push(() => resolve('done')))
  }
  const entered = Array.from({ length: 8 }, () => semaphore.run(work))
  assert.deepEqual([semaphore.running, semaphore.waiting], [2, 3])
  while (leave.length > 0) {
    leave.shift()?.()
    await new Promise(setImmediate)
  }
  const results = await Promise.all(entered)
  assert.equal(results.filter((result) => result === 'full').length, 3)
  assert.equal(most, 2)
  assert.deepEqual(await semaphore.run(async () => 7), { result: 7 })
  await assert.rejects(semaphore.run(() => Promise.reject(new Error('x'))))
  assert.equal(semaphore.running, 0)
})

onEveryEngineInLongRuns('passwords', (place) => {
  let gate: TestGate
  const clock = createTestClock()
  before(async () => {
    gate = await startGate(place(), { clock, flags: { '--trusted-proxies': '127.0.0.1' } })
  })
  after(() => gate.stop())

  const attempt = async (username: string, password: string, address: string): Promise<boolean> => {
    const answer = await ask(username, password, address)
    if (answer.status === 429) assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    else if (answer.status !== 200) assert.equal(answer.body.error, 'invalid_grant')
    return answer.status === 200
  }
  const ask = (username: string, password: string, address: string): Promise<Answer> => {
    const form = { grant_type: 'password', client_id: 'cli', username, password }
    return gate.post('/connect/token', form, { 'x-forwarded-for': address })
  }

  test('many users who sign in at once from one address: no right password is called wrong', async () => {
    const passwordHash = (await gate.stores.users.findById(gate.aliceId))?.passwordHash
    const names = Array.from({ length: 70 }, (_, index) => `colleague-${index}`)
    for (const username of names) await gate.stores.users.create({ username, passwordHash })
    const answers = await Promise.all(names.map((name) => ask(name, PASSWORD, '198.51.100.120')))
    const accepted = answers.filter(({ status }) => status === 200)
    // Those past the longest wait, on a slow machine.
    for (const { status, headers, body } of answers.filter((answer) => !accepted.includes(answer))) {
      assert.deepEqual([status, body.error], [503, 'temporarily_unavailable'])
      assert.match(headers.get('retry-after') ?? '', /^\d+$/)
    }
    // More than the fifty failures that an address may cause.
    assert.ok(accepted.length > 50, `${accepted.length} of ${names.length} were accepted`)
    assert.equal(await attempt('colleague-0', PASSWORD, '198.51.100.120'), true, 'the address is delayed afterwards')
  })

  test('delayed sign-ins leave no rows but the count that delays them, and the audit log says whom', async () => {
    const address = '203.0.113.77'
    const throttles = async () => (await gate.database.db.selectFrom('throttles').select('key').execute()).length
    for (let count = 0; count < 6; count++) await attempt('boss', 'a wrong password', address)
    assert.equal((await ask('boss', PASSWORD, address)).status, 429)
    assert.equal((await ask('BOSS', PASSWORD, address)).status, 429)
    // Fifty failures: after them the whole address waits.
    for (let count = 0; (await ask(`nobody-${count}`, 'x', address)).status !== 429; count++) assert.ok(count < 60)
    const before = await throttles()
    for (let count = 0; count < 5; count++) assert.equal((await ask(`stranger-${count}`, 'x', address)).status, 429)
    assert.equal(await throttles(), before, 'names that nobody has are counted while their address must wait')
    const boss = await gate.stores.users.findByUsername('boss')
    const recorded = async (event: 'signin.delayed' | 'token.refused') => {
      const rows = gate.database.db.selectFrom('audit_log').select(['actor', 'client', 'details'])
      const found = await rows.where('address', '=', address).where('event', '=', event).orderBy('seq').execute()
      return found.map(({ details, ...row }) => ({ ...row, details: JSON.parse(details) }))
    }
    await until('the delays are recorded', 5000, async () => (await recorded('signin.delayed')).length >= 8)
    const delayed = await recorded('signin.delayed')
    const { actor, client, details } = delayed[0] ?? {}
    assert.deepEqual([actor, client], [boss?.id, 'cli'])
    assert.deepEqual(details, { scope: ['pair'], seconds: 1, username: 'boss' })
    const last = delayed.at(-1)
    assert.deepEqual([last?.actor, last?.details.scope, last?.details.username], [null, ['address'], undefined])
    const reasons = (await recorded('token.refused')).map(({ details: { reason } }) => reason)
    assert.ok(!reasons.includes('delayed'), 'a delayed sign-in is recorded twice')
  })

  test('C-111: one address that tries a password on many accounts is throttled; other addresses are not', async () => {
    // The test before has made its fifty failures.
    const sprayer = '203.0.113.77'
    assert.equal((await ask('alice', PASSWORD, sprayer)).status, 429)
    assert.equal(await attempt('boss', PASSWORD, '192.0.2.77'), true)
    clock.advance(300_000)
    assert.equal(await attempt('boss', PASSWORD, sprayer), true)
  })

  test('C-111: guesses made at the same time get no more tries than the policy, and the right password then has to wait', async () => {
    const passwordHash = (await gate.stores.users.findById(gate.aliceId))?.passwordHash
    await gate.stores.users.create({ username: 'target', passwordHash })
    const guesses = Array.from({ length: 60 }, (_, index) => ask('target', `guess-${index}`, '203.0.113.61'))
    const answers = await Promise.all(guesses)
    const checked = answers.filter(({ body }) => body.error === 'invalid_grant')
    assert.ok(checked.length > 0 && checked.length <= 6, `${checked.length} guesses were checked`)
    for (const { status, headers } of answers.filter((answer) => !checked.includes(answer))) {
      assert.equal(status, 429)
      assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    }
    const right = await ask('target', PASSWORD, '203.0.113.61')
    assert.deepEqual([right.status, right.body.error], [429, 'temporarily_unavailable'])
    clock.advance(60_000)
    assert.equal(await attempt('target', PASSWORD, '203.0.113.61'), true)
  })

  test('a right password among parallel guesses from the same address is not called wrong', async () => {
    const network = '203.0.113.62'
    const guesses = Array.from({ length: 40 }, (_, index) => ask(`nobody-${index}`, 'guess', network))
    const right = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ask(`colleague-${index}`, PASSWORD, network)),
    )
    await Promise.all(guesses)
    for (const { status, text } of right) assert.ok([200, 429, 503].includes(status), text)
    assert.ok(right.some(({ status }) => status === 200))
    clock.advance(15 * 60_000)
  })

  test('C-111: attackers cannot lock a user out: from an address of an earlier sign-in, the user still can sign in', async () => {
    const home = '198.51.100.7'
    assert.equal(await attempt('alice', PASSWORD, home), true)
    for (let count = 0; count < 25; count++) await attempt('alice', 'guess', `203.0.113.${count}`)
    assert.equal(await attempt('alice', PASSWORD, '192.0.2.1'), false)
    assert.equal(await attempt('alice', PASSWORD, home), true)
    clock.advance(60_000)
    assert.equal(await attempt('alice', PASSWORD, '192.0.2.1'), true)
  })

  test('C-111: all addresses of an IPv6 network count as one', IN_LONG_RUNS, async () => {
    const passwordHash = (await gate.stores.users.findById(gate.aliceId))?.passwordHash
    await gate.stores.users.create({ username: 'sixer', passwordHash })
    for (let count = 0; count < 8; count++) await attempt('sixer', 'guess', `2001:db8:1:2::${count}`)
    assert.equal(await attempt('sixer', PASSWORD, '2001:db8:1:2:ffff::1'), false)
    assert.equal(await attempt('sixer', PASSWORD, '2001:db8:1:3::1'), true)
  })

  test('C-112: a hash with outdated parameters is replaced when its user signs in', async () => {
    // Argon2id with m=8, t=1 of the usual test password.
    const { hash } = await import('@node-rs/argon2')
    const weak = await hash(PASSWORD, { memoryCost: 8, timeCost: 1, parallelism: 1 })
    const id = await gate.stores.users.create({ username: 'veteran', passwordHash: weak })
    assert.equal(await attempt('veteran', PASSWORD, '192.0.2.9'), true)
    const renewed = (await gate.stores.users.findById(id))?.passwordHash ?? ''
    assert.match(renewed, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    assert.equal(await attempt('veteran', PASSWORD, '192.0.2.9'), true)
  })

  test('C-67: a password that is changed while its check waits in the queue is refused', async () => {
    const id = await gate.stores.users.create({ username: 'hasty', passwordHash: await hashPassword(PASSWORD) })
    const changed = await hashPassword('another long password')
    // Enough to keep the queue busy until the change is made, however fast the machine hashes.
    const crowd = Array.from({ length: 40 }, (_, count) => attempt(`queue-${count}`, 'guess', `198.18.0.${count}`))
    await setTimeout(50)
    const waiting = attempt('hasty', PASSWORD, '198.18.1.1')
    await setTimeout(100)
    clock.advance(1000)
    await gate.stores.users.setPassword(id, changed)
    assert.equal(await waiting, false)
    await Promise.all(crowd)
  })

  test(
    'C-110: a flood of sign-ins is answered or refused as busy, never with an error, and other requests are served',
    IN_LONG_RUNS,
    async () => {
      const storm = Array.from({ length: 75 }, (_, count) =>
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
    },
  )
})
