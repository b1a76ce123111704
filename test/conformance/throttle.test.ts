/** Throttling of guesses, and what they reveal (C-10, C-51, C-76, C-111, C-112). */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openPlace } from '../support/engines.ts'
import { type Gatehouse, otherPerson, planDeclaration, startGatehouse } from '../support/providers/gatehouse.ts'
import { clientFixtures, person } from '../support/providers/provider.ts'
import type { Departure, Page } from '../support/user-agent.ts'
import { readName, signIn } from '../support/visitor.ts'
import { startDevice } from './device-steps.ts'
import { listPairs, post } from './steps.ts'
import { createTrial, type Trial } from './trial.ts'

const { client, device } = clientFixtures('https://127.0.0.1:1/')

describe('guessing', () => {
  let gatehouse: Gatehouse
  let leave: () => Promise<void>
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    gatehouse = await startGatehouse(opened.place, {
      declaration: planDeclaration('https://127.0.0.1:1/'),
      still: true,
    })
  })
  after(async () => {
    await gatehouse.stop()
    await leave()
  })

  test('C-111: after many failures the right password is refused too, for longer each time and with the same response, and works again later', async () => {
    const trial = createTrial(gatehouse, 'C', false)
    const wrong = { username: person.username, password: 'not it' }
    const waits: number[] = []
    for (let count = 0; count < 25; count++) {
      const page = await attempt(trial, wrong)
      assert.ok(page.kind === 'page')
      const seconds = Number(page.headers.get('retry-after') ?? 0)
      if (seconds === 0) continue
      const early = await attempt(trial, person)
      assert.ok(early.kind === 'page' && readName(early) === 'sign-in', 'the right password was accepted too early')
      assert.equal(early.status, page.status, 'the response differs for the right password')
      waits.push(seconds)
      await gatehouse.elapse(seconds * 1000)
    }
    assert.ok(waits.length >= 3, `${waits}`)
    assert.ok((waits.at(-1) ?? 0) > (waits[0] ?? 0), `the waits do not increase: ${waits}`)
    await gatehouse.elapse(24 * 3600_000)
    await createTrial(gatehouse, 'C', false).succeed()
  })

  test('C-111: one password on many accounts is throttled by address', async () => {
    const trial = createTrial(gatehouse, 'C', false)
    for (let count = 0; count < 60; count++)
      await attempt(trial, { username: `somebody-${count}`, password: 'summer2026' })
    const early = await attempt(trial, otherPerson)
    assert.ok(early.kind === 'page' && readName(early) === 'sign-in', 'the address was not throttled')
    await gatehouse.elapse(24 * 3600_000)
  })

  test('C-112: a password of sixty thousand characters is refused quickly', async () => {
    const trial = createTrial(gatehouse, 'C', false)
    const started = performance.now()
    const refused = await attempt(trial, { username: person.username, password: 'x'.repeat(60_000) })
    assert.ok(refused.kind === 'page' && refused.status === 401)
    assert.ok(performance.now() - started < 1000)
    await gatehouse.elapse(24 * 3600_000)
  })

  test('C-51: wrong client secrets are throttled, and the right one is accepted afterwards', async () => {
    const wrong = { ...client, client_secret: 'wrong' }
    const statuses = new Set<number>()
    for (let count = 0; count < 60; count++) {
      const response = await post(gatehouse.metadata.token_endpoint, { grant_type: 'refresh_token' }, wrong)
      statuses.add(response.status)
      if (response.status === 429) assert.match(response.headers.get('retry-after') ?? '', /^\d+$/)
    }
    assert.ok(statuses.has(429), `never throttled: ${[...statuses]}`)
    await gatehouse.elapse(24 * 3600_000)
    await createTrial(gatehouse, 'C', false).succeed()
  })

  test('C-10: a forged X-Forwarded-For with each guess does not avoid the throttle', async () => {
    const statuses = new Set<number>()
    for (let count = 0; count < 30; count++) {
      const forwarded = `203.0.113.${count}`
      const response = await fetch(gatehouse.metadata.token_endpoint, {
        method: 'POST',
        headers: { 'x-forwarded-for': forwarded, 'x-real-ip': forwarded, forwarded: `for=${forwarded}` },
        body: new URLSearchParams({ grant_type: 'refresh_token', client_id: client.client_id, client_secret: 'wrong' }),
      })
      statuses.add(response.status)
    }
    assert.ok(statuses.has(429), `never throttled: ${[...statuses]}`)
    await gatehouse.elapse(24 * 3600_000)
  })

  test('C-76: guessing user codes is throttled; wrong and expired codes get the same response', async () => {
    const trial = createTrial(gatehouse, 'C', false)
    await trial.succeed()
    const { user_code: expired } = await startDevice(trial, device, 'openid')
    await gatehouse.elapse(3600_000)
    const pages = []
    for (const code of [expired, 'BCDF-GHJK', 'WXYZ-BCDF']) pages.push(await enter(trial, code))
    const texts = pages.map(({ body }) => body.match(/id="error-summary"[\s\S]*?<\/div>/)?.[0])
    assert.ok(texts[0] !== undefined)
    assert.deepEqual(texts, [texts[0], texts[0], texts[0]])
    const { user_code: live } = await startDevice(trial, device, 'openid')
    for (let count = 0; count < 20; count++) await enter(trial, 'BBBB-CCCC')
    const early = await enter(trial, live)
    assert.ok(!early.body.includes('device-allow'), 'not throttled after twenty guesses')
  })

  async function attempt(trial: Trial, credentials: { username: string; password: string }): Promise<Page | Departure> {
    return signIn(trial.agent, await start(trial), credentials)
  }

  async function start(trial: Trial): Promise<Page> {
    const url = new URL(trial.provider.metadata.authorization_endpoint)
    for (const [name, value] of listPairs(trial.request())) url.searchParams.set(name, value)
    const page = await trial.agent.get(url)
    assert.ok(page.kind === 'page')
    return page
  }

  async function enter(trial: Trial, userCode: string): Promise<Page> {
    const page = await trial.agent.get('/device')
    assert.ok(page.kind === 'page' && page.forms[0])
    const next = await trial.agent.submit(page.forms[0], { user_code: userCode })
    assert.ok(next.kind === 'page')
    return next
  }
})
