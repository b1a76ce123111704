/** Step-up on feeds and topics of controllers, over streams and HTTP; and a token that is renewed meanwhile. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { exportDeclaration } from '../../packages/server/src/declarative/export.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { openEvents } from '../support/event-client.ts'
import type { StreamClient } from '../support/stream-client.ts'
import { openStepUpPlace, type StepUpPlace } from './step-up-place.ts'

onEveryEngineInLongRuns('step-up on feeds and topics', (at) => {
  let place: StepUpPlace
  before(async () => {
    place = await openStepUpPlace(at())
    const published = await place.send('POST', '/feeds/Fills/ACME', place.weak, { price: 1 })
    assert.equal(published.status, 200, 'publishing demands nothing here')
  })
  after(() => place.close())

  const fill = (Action: string, more: object = {}) => ({ Controller: 'Fills', Topic: 'ACME', Action, ...more })
  const renew = (stream: StreamClient, token: string) =>
    stream.request({
      Controller: 'Auth',
      Topic: 'AuthToken',
      TransactionID: 2,
      Data: { Provider: 'Bearer', AccessToken: token },
    })

  test('a feed is not read with a weak or old sign-in: state, history, topics and events', async () => {
    const old = await place.token(2, 601)
    for (const token of [place.weak, old])
      for (const path of ['/feeds/Fills', '/feeds/Fills/ACME', '/feeds/Fills/ACME?last=5', '/feeds/Fills/*?last=5']) {
        const reply = await place.send('GET', path, token)
        assert.equal(reply.status, 401, path)
        const problem = (await reply.json()) as Record<string, unknown>
        assert.partialDeepStrictEqual(problem, { AcrValues: '2', MaxAge: 600 })
      }
    const url = `http://127.0.0.1:${place.server.port}/feeds/Fills/ACME`
    const refused = await openEvents(url, { method: 'GET', token: place.weak })
    assert.equal(refused.status, 401)
    assert.match(refused.headers['www-authenticate'] ?? '', /acr_values="2", max_age="600"/)
    refused.close()
    assert.equal((await place.send('GET', '/feeds/Fills/ACME?last=5', place.strong)).status, 200)
    assert.equal((await place.send('GET', '/feeds/Fills/ACME', await place.clientToken())).status, 403)
  })

  test('the list of feeds shows what each demands', async () => {
    const { items } = (await (await place.send('GET', '/feeds', place.weak)).json()) as { items: object[] }
    assert.partialDeepStrictEqual(items, [
      { Name: 'Desk', WriteRequireAcr: 2 },
      { Name: 'Fills', RequireAcr: 2, RequireAge: 600 },
    ])
  })

  test('publishing and removing demand what the feed demands of writers', async () => {
    assert.equal((await place.send('POST', '/feeds/Desk/A', place.weak, 1)).status, 401)
    assert.equal((await place.send('POST', '/feeds/Desk/A', place.strong, 1)).status, 200)
    assert.equal((await place.send('DELETE', '/feeds/Desk/A', place.weak)).status, 401)
    assert.equal((await place.send('DELETE', '/feeds/Desk/unknown', place.weak)).status, 401)
    const stream = await place.stream(place.weak)
    const publish = { Controller: 'Desk', Topic: 'A', Action: 'Publish', TransactionID: 3, Data: 2 }
    assert.partialDeepStrictEqual(await stream.request(publish), { Action: 'Error', Data: 'Authority acr=2' })
  })

  test('a subscription: refused, then kept while a good token is renewed, then ended by a weak one', async () => {
    const weak = await place.stream(place.weak)
    const sub = fill('Sub', { Confirm: true, TransactionID: 1 })
    assert.partialDeepStrictEqual(await weak.request(sub), { Action: 'Error', Data: 'Authority acr=2 max_age=600' })
    const stream = await place.stream(await place.token(2))
    assert.partialDeepStrictEqual(await stream.request(sub), { Action: 'Sub', Confirm: true })
    await renew(stream, await place.token(2, 590))
    place.clock.advance(30_000)
    await place.send('POST', '/feeds/Fills/ACME', place.weak, { price: 2 })
    assert.partialDeepStrictEqual(await stream.next(), { Data: { price: 2 } }, 'not judged in between')
    await renew(stream, await place.token(1))
    assert.partialDeepStrictEqual(await stream.next(), { Action: 'Error', Data: 'Authority acr=2 max_age=600' })
    assert.partialDeepStrictEqual(await stream.next(), { Action: 'Unsub' })
  })

  test('a feed that begins to demand more ends the subscriptions of those who lack it', async () => {
    const stream = await place.stream(await place.token(1))
    assert.partialDeepStrictEqual(
      await stream.request({ Controller: 'Desk', Topic: 'B', Action: 'Sub', Confirm: true, TransactionID: 1 }),
      { Action: 'Sub' },
    )
    const patch = { 'content-type': 'application/merge-patch+json', 'if-match': '*' }
    const changed = await place.send('PATCH', '/admin/feeds/Desk', place.strong, { require_acr: 2 }, patch)
    assert.equal(changed.status, 200, await changed.clone().text())
    assert.partialDeepStrictEqual(await changed.json(), { require_acr: 2, write_require_acr: 2 })
    assert.partialDeepStrictEqual(await stream.next(), { Action: 'Error', Data: 'Authority acr=2' })
    const back = await place.send('PATCH', '/admin/feeds/Desk', place.strong, { require_acr: null }, patch)
    assert.equal(((await back.json()) as Record<string, unknown>).require_acr, undefined)
  })

  test('a topic of a controller is judged for each request', async () => {
    const call = (Topic: string) => ({ Controller: 'Orders', Topic, TransactionID: 5, Data: {} })
    const stream = await place.stream(await place.token(2, 30))
    assert.partialDeepStrictEqual(await stream.request(call('Place')), { Data: { ok: true } })
    place.clock.advance(40_000)
    assert.partialDeepStrictEqual(await stream.request(call('Place')), { Data: 'Authority acr=2 max_age=60' })
    assert.partialDeepStrictEqual(await stream.request(call('Ping')), { Data: { ok: true } })
    await renew(stream, await place.token(2))
    assert.partialDeepStrictEqual(await stream.request(call('Place')), { Data: { ok: true } })
    const program = await place.stream(await place.clientToken())
    assert.partialDeepStrictEqual(await program.request(call('Place')), { Data: 'Authority' })
  })

  test('an export has what feeds and topics demand, as it was declared', async () => {
    const declared = await exportDeclaration(place.stores, {
      users: false,
      definitions: undefined,
      operator: true,
    })
    assert.partialDeepStrictEqual(declared, {
      feeds: [
        { name: 'Desk', write_require_acr: 2 },
        { name: 'Fills', require_acr: 2, require_age: 600 },
      ],
      controllers: [{ topics: [{ name: 'Place', needs: 'Platform/Trading', require_acr: 2, require_age: 60 }, {}] }],
    })
  })
})
