/** When the store fails during an authorization request, the client gets an error response (B-13). */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'
import { onEveryEngineInLongRuns, openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { ALICE, authorizeUrl, openSignInPlace, readAnswer, SECRET, type SignInPlace } from '../support/sign-in-place.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import type { UserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

const ask = async (place: SignInPlace, agent: UserAgent, changes: Record<string, string> = {}) =>
  (await visit(agent, await agent.get(authorizeUrl(place.server.issuer, changes)), ALICE)).end

/** Does not check the log for errors, as other tests do: here they are expected. */
async function close({ server, database }: SignInPlace): Promise<void> {
  await server.stop()
  await database.close()
}

onEveryEngineInLongRuns('a failing store', (at) => {
  let place: SignInPlace
  before(async () => {
    place = await openSignInPlace(at())
  })
  after(() => close(place))

  test('B-13: an unexpected failure is server_error at the client, in the requested response mode, and is logged', async () => {
    const agent = place.newAgent()
    assert.ok(readAnswer(await ask(place, agent)).has('code'))
    const rename = (from: string, to: string) =>
      sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(place.database.db)
    for (const [table, tried] of [
      // Read once it is known who asks, and before that.
      ['consents', [{}, { response_type: 'id_token token' }, { response_mode: 'form_post' }]],
      ['sessions', [{}, { scope: 'openid Identity/Admin' }]],
    ] as const) {
      await rename(table, `${table}_away`)
      try {
        for (const changes of tried) {
          const end = await ask(place, agent, { ...changes, prompt: 'none', state: 'kept' })
          const answer = readAnswer(end)
          assert.deepEqual(
            [answer.get('error'), answer.get('state'), answer.get('iss')],
            ['server_error', 'kept', place.server.issuer],
            `${table} ${JSON.stringify(changes)}`,
          )
          assert.ok(!answer.has('code') && !answer.has('access_token') && !answer.has('id_token'))
          assert.ok(end.kind === 'left')
          assert.equal(end.method === 'POST', 'response_mode' in changes)
          assert.equal(end.url.hash !== '', 'response_type' in changes)
        }
        const page = await agent.get(authorizeUrl(place.server.issuer, { redirect_uri: 'https://evil.example/' }))
        assert.ok(page.kind === 'page' && page.status >= 400, 'no redirect to an unregistered URI')
      } finally {
        await rename(`${table}_away`, table)
      }
    }
    assert.ok(place.server.log.some((line) => /"level":"error".*consents/.test(line)))
    assert.ok(readAnswer(await ask(place, agent, { prompt: 'none' })).has('code'))
  })
})

describe('an unavailable store', () => {
  test('B-13: a database locked by another process is temporarily_unavailable, and the next request succeeds', async () => {
    const { place: at, leave } = await openPlace('sqlite')
    const place = await openSignInPlace(at)
    const lock = new SqliteDatabase(place.database.location)
    try {
      // The client is cached now; the session of a new browser must be written.
      assert.ok(readAnswer(await ask(place, place.newAgent())).has('code'))
      lock.exec('begin immediate')
      const answer = readAnswer(await ask(place, place.newAgent()))
      assert.deepEqual([answer.get('error'), answer.get('state')], ['temporarily_unavailable', 'st'])
      lock.exec('rollback')
      assert.ok(readAnswer(await ask(place, place.newAgent())).has('code'))
    } finally {
      lock.close()
      await close(place)
      await leave()
    }
  })

  test('B-13: an unreachable database is temporarily_unavailable until it is back', async () => {
    const { place: at, leave } = await openPlace('postgres')
    const url = new URL(at.databaseUrl)
    const proxy = await startTcpProxy(url.hostname, Number(url.port))
    url.port = String(proxy.port)
    const place = await openSignInPlace({ ...at, databaseUrl: url.href })
    try {
      const agent = place.newAgent()
      assert.ok(readAnswer(await ask(place, agent)).has('code'))
      proxy.cut()
      for (const visitor of [agent, place.newAgent()]) {
        const answer = readAnswer(await ask(place, visitor))
        assert.deepEqual([answer.get('error'), answer.get('state')], ['temporarily_unavailable', 'st'])
      }
      const form = { grant_type: 'refresh_token', refresh_token: 'x', client_id: 'trusted', client_secret: SECRET }
      const redeemed = await fetch(`${place.server.issuer}/connect/token`, {
        method: 'POST',
        body: new URLSearchParams(form),
      })
      assert.deepEqual([redeemed.status, redeemed.headers.get('retry-after')], [503, '5'])
      assert.partialDeepStrictEqual(await redeemed.json(), { error: 'temporarily_unavailable' })
      const page = await agent.get('/account')
      assert.ok(page.kind === 'page' && page.status === 503)
      assert.equal(page.headers.get('retry-after'), '5')
      const origin = 'https://spa.example.com'
      const preflight = () =>
        fetch(`${place.server.issuer}/connect/token`, {
          method: 'OPTIONS',
          headers: { origin, 'access-control-request-method': 'POST' },
        })
      assert.equal((await preflight()).headers.get('access-control-allow-origin'), null)
      proxy.mend()
      assert.ok(readAnswer(await ask(place, agent, { prompt: 'none' })).has('code'))
      assert.equal((await preflight()).headers.get('access-control-allow-origin'), origin)
    } finally {
      proxy.mend()
      await close(place)
      await proxy.close()
      await leave()
      await stopOwnPostgres()
    }
  })
})
