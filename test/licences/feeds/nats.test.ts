/** Licences of feeds in NATS: real-time, or nothing. Nobody is shown them with a delay. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onSqlite } from '../../support/engines.ts'
import { type NatsServer, startNats, whyWithoutNats } from '../../support/nats-server.ts'
import { type LicenceServer, startLicenceServer } from '../licence-server.ts'
import { events, FEEDS, follow, publish } from './feed-licences.ts'

const DECLARED = `${FEEDS}
products:
  - { name: NYSE, delay: 1 second, covers: [{ feed: Prices }] }
entitlements:
  - { product: NYSE, user: alice, access: delayed }
  - { product: NYSE, user: admin, access: realtime }
  - { product: NYSE, client: handler, access: realtime, kind: exempt }
`
const skip = whyWithoutNats()

if (skip !== undefined) describe('licences of feeds in NATS', { skip })
else
  onSqlite('licences of feeds in NATS', (place) => {
    let nats: NatsServer
    let server: LicenceServer
    before(async () => {
      nats = await startNats()
      server = await startLicenceServer(place(), DECLARED, { flags: { '--nats-url': nats.url } })
    })
    after(async () => {
      await server.stop()
      await nats.close()
    })

    test('with delayed access a feed in NATS is refused by every way, and the reason is said', async () => {
      await publish(server, 'Prices', 'A', 1)
      assert.equal((await server.send('GET', '/feeds/Prices/A', { token: server.admin })).body.Data, 1)
      for (const path of ['/feeds/Prices/A', '/feeds/Prices']) {
        const { status, body, headers } = await server.send('GET', path)
        assert.deepEqual([status, body.Code, headers.get('retry-after')], [503, 'Licence.NotReady', null], path)
        assert.match(body.detail, /is in NATS, where feeds cannot be read with a delay/)
      }
      const stream = await events(server, '/feeds/Prices/A')
      assert.equal(stream.status, 503)
      stream.close()
      const follower = await follow(server)
      assert.doesNotMatch(await follower.refused('Prices', 'A'), /^1$/)
      follower.stream.socket.close()
    })
  })
