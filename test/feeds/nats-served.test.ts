/** A server whose feeds are in NATS: publishers and subscribers over HTTP, streams and NATS itself, and an outage of it. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { openPlace } from '../support/engines.ts'
import { type NatsServer, startNats, whyWithoutNats } from '../support/nats-server.ts'
import { until } from '../support/until.ts'
import { type FeedServer, startFeedServer } from './feed-server.ts'

describe('a server with nats_url', { skip: whyWithoutNats() ?? false }, () => {
  let nats: NatsServer
  let server: FeedServer
  let program: NatsConnection
  let leave: () => Promise<void>

  before(async () => {
    nats = await startNats()
    const opened = await openPlace('sqlite')
    leave = opened.leave
    server = await startFeedServer(opened.place, { flags: { '--nats-url': nats.url } })
    program = await connect({ servers: nats.url })
  })
  after(async () => {
    await program?.close()
    await server?.stop()
    await leave?.()
    await nats?.close()
  })

  const subscribe = async (controller: string, topic: string) => {
    const stream = await server.stream()
    const request = { Controller: controller, Topic: topic, Action: 'Sub', TransactionID: 1, Confirm: true }
    assert.equal((await stream.request(request)).Confirm, true)
    return stream
  }

  test('what is published over HTTP and to NATS reaches a stream', async () => {
    const stream = await subscribe('Orders', 'NYSE/*')
    assert.equal((await server.publish('/feeds/Orders/NYSE%2FA', { id: 1 })).status, 200)
    assert.deepEqual((await stream.next()).Data, { id: 1 })
    program.publish('gatehouse.feeds.Orders.NYSE.B', '{"id":2}')
    const second = await stream.next()
    assert.deepEqual([second.Topic, second.Data], ['NYSE/B', { id: 2 }])
  })

  test('the state is read over HTTP, and there is nothing of it in the database', async () => {
    await server.publish('/feeds/Prices/ACME', { last: '101.25' })
    const reply = await server.send('GET', '/feeds/Prices/ACME', { headers: { accept: 'application/json' } })
    assert.match(await reply.text(), /"last":"101.25"/)
  })

  test('while NATS is away publishing is refused, and subscriptions continue after it', async () => {
    const stream = await subscribe('Orders', 'Away')
    await server.publish('/feeds/Orders/Away', 1)
    assert.equal((await stream.next()).Data, 1)
    await nats.kill()
    await until('publishing is refused', 2000, async () => {
      const reply = await server.publish('/feeds/Orders/Away', 'lost')
      if (reply.status !== 503) return false
      assert.match(String(reply.body.detail), /^The feeds are not available/)
      return true
    })
    assert.equal((await server.send('GET', '/readyz')).status, 503)
    await nats.start()
    await until(
      'publishing is possible',
      5000,
      async () => (await server.publish('/feeds/Orders/Away', 2)).status === 200,
    )
    assert.equal((await stream.next()).Data, 2)
    await until('the server is ready', 5000, async () => (await server.send('GET', '/readyz')).status === 200)
  })
})
