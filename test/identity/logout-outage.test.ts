/** A client learns of the end of a session also if the database cannot be read just then. */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { noAudit } from 'gatehouse-protocol'
import { sql } from 'kysely'
import { watchSessions } from '../../packages/server/src/identity/browser/sign-out/session-watch.ts'
import { createClientDirectory } from '../../packages/server/src/identity/clients/client-directory.ts'
import { openRevocations } from '../../packages/server/src/store/authorizations/revocations.ts'
import { onEveryEngine } from '../support/engines.ts'
import { createLocalBus } from '../support/local-bus.ts'
import { type OpenStores, openStores } from '../support/stores.ts'
import { until } from '../support/until.ts'

onEveryEngine('the notice of a sign-out', (place) => {
  let open: OpenStores
  let server: http.Server
  let told = 0
  before(async () => {
    open = await openStores(place())
    server = http.createServer((request, response) => {
      told++
      request.resume()
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const uri = `http://127.0.0.1:${port}/logout`
    await open.stores.clients.put({ client_id: 'web', scope: 'openid', backchannel_logout_uri: uri })
  })
  after(async () => {
    server.close()
    await open.close()
  })

  for (const table of ['session_clients', 'clients'])
    test(`is sent once ${table} can be read again`, async () => {
      const { database, stores, clock } = open
      const bus = createLocalBus()
      const errors: unknown[] = []
      const watch = watchSessions({
        ...{ stores, bus, clock, audit: noAudit, allowPrivateLogout: true },
        clients: createClientDirectory(stores.clients, bus, clock, new Map()),
        // Of the issuer it uses the logout token alone.
        issuer: { logoutToken: async () => 'a.b.c' } as never,
        revocations: openRevocations({ database, clock, receive: bus.receive }),
        onLogoutFailure: (_client, reason) => errors.push(reason),
        onError: (error) => errors.push(error),
      })
      const { session } = await stores.sessions.open('usr_a', {
        amr: ['pwd'],
        userAgent: 'Test/1',
        address: '192.0.2.1',
      })
      await stores.sessions.addClient(session.id, 'web')
      await stores.sessions.end(session.id)
      const before = told
      await sql`alter table ${sql.ref(table)} rename to away`.execute(database.db)
      await bus.publish({ kind: 'session-ended', sessionId: session.id, expiresAt: clock() + 60_000 })
      await until('it fails', 2000, () => errors.length > 0)
      await sql`alter table away rename to ${sql.ref(table)}`.execute(database.db)
      await until('the client is told', 2000, () => told === before + 1)
      await watch.close()
      assert.equal(await stores.sessions.takeClients(session.id), undefined)
    })
})
