/** Step-up in the client library: sources that can ask the user again, and others, over HTTP, events and streams. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Gatehouse, getToken, StepUpNeeded, type TokenSource } from '../../packages/client/src/index.ts'
import { openStepUpPlace, type StepUpPlace } from '../step-up/step-up-place.ts'
import { openPlace } from '../support/engines.ts'
import { until } from '../support/until.ts'

let place: StepUpPlace
let leave: () => Promise<void>
before(async () => {
  const opened = await openPlace('sqlite')
  leave = opened.leave
  place = await openStepUpPlace(opened.place)
})
after(async () => {
  await place.close()
  await leave()
})

/** A source whose user signs in again when asked, as often as it can. */
class Asking implements TokenSource {
  current: string
  readonly asked: StepUpNeeded[] = []
  readonly #strong: () => Promise<string>

  constructor(weak: string, strong: () => Promise<string>) {
    this.current = weak
    this.#strong = strong
  }

  async token(_refused?: string, error?: unknown): Promise<string> {
    if (error instanceof StepUpNeeded) {
      this.asked.push(error)
      this.current = await this.#strong()
    }
    return this.current
  }
}

const gates: Gatehouse<TokenSource>[] = []
afterEach(() => {
  for (const gate of gates.splice(0)) gate.close()
})

function createGate(source: TokenSource): Gatehouse<TokenSource> {
  const gate = new Gatehouse(place.server.issuer, { auth: () => source })
  gates.push(gate)
  return gate
}

async function isNeeded(of: Promise<unknown>, acrValues: string | undefined, maxAge: number | undefined) {
  await assert.rejects(of, (error) => {
    assert.ok(error instanceof StepUpNeeded, String(error))
    assert.deepEqual(
      [error.name, error.code, error.acrValues, error.maxAge],
      ['StepUpNeeded', 'Auth.StepUp', acrValues, maxAge],
    )
    return true
  })
}

test('other sources throw StepUpNeeded: of a query, a live query, a feed and a request', async () => {
  const gate = new Gatehouse(place.server.issuer, { auth: getToken(() => place.weak) })
  gates.push(gate as Gatehouse<TokenSource>)
  await isNeeded(gate.query`select * from positions`.rows(), '2', 300)
  await isNeeded(gate.live`select id from positions`.ready(), '2', 300)
  await isNeeded(gate.feed('Fills').subscribe('ACME').ready(), '2', 600)
  await isNeeded(gate.stream.request('Orders', 'Place', {}), '2', 60)
})

test('a request is repeated once with the token of a new sign-in, and no more than once', async () => {
  const source = new Asking(place.weak, () => place.token(2))
  const gate = createGate(source)
  assert.equal((await gate.query`select id from positions`.rows()).length, 2)
  assert.deepEqual(
    source.asked.map(({ acrValues, maxAge }) => [acrValues, maxAge]),
    [['2', 300]],
  )
  const stubborn = new Asking(place.weak, async () => place.weak)
  await isNeeded(createGate(stubborn).query`select id from positions`.rows(), '2', 300)
  assert.equal(stubborn.asked.length, 1)
})

test('on a stream the new token is presented, and requests and subscriptions continue', async () => {
  const source = new Asking(place.weak, () => place.token(2))
  const gate = createGate(source)
  assert.deepEqual(await gate.stream.request('Orders', 'Place', {}), { ok: true })
  assert.equal(source.asked.length, 1)
  const live = await gate.live`select id from positions order by id`.ready()
  assert.deepEqual(
    live.rows.map(({ id }) => id),
    [1, 2],
  )
  assert.equal(source.asked.length, 1, 'the connection has the new authority')
})

test('a live query that a weak token ended is resumed where it was', async () => {
  const source = new Asking(await place.token(2), () => place.token(2))
  const gate = createGate(source)
  const live = await gate.live`select id from positions order by id`.ready()
  const changes = live[Symbol.asyncIterator]()
  assert.equal((await changes.next()).value?.snapshot, true)
  // Another tab has renewed the token by a weaker sign-in.
  source.current = await place.token(1)
  await gate.stream.request('Auth', 'AuthToken', { Provider: 'Bearer', AccessToken: source.current })
  await until('the user was asked', 3000, () => source.asked.length === 1)
  const resumed = (await changes.next()).value
  assert.deepEqual([resumed?.recovered, resumed?.snapshot], [true, false])
  await place.query('INSERT INTO positions VALUES (7, 7)', await place.token(2))
  assert.deepEqual((await changes.next()).value?.put, [{ id: 7 }])
})
