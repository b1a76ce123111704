/** Who is signed in: sessions, grants and streams of all users, paged and counted, and ended everywhere at once. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { OpenStream } from '../../packages/server/src/admin/ports.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'

const PROOF = { amr: ['pwd'], userAgent: 'Firefox', address: '192.0.2.9' }

onEveryEngineInLongRuns('who is signed in', (place, engine) => {
  let admin: TestAdmin
  const streams: OpenStream[] = []
  const ids = new Map<string, string>()
  before(async () => {
    const live = { list: () => streams }
    admin = await startTestAdmin(place(), {}, { streams: live, queries: undefined })
    const { stores } = admin.env
    for (const username of ['ada', 'ben', 'cleo']) {
      const userId = await stores.users.create({ username })
      ids.set(username, userId)
      for (let count = 0; count < 3; count++) {
        const { session } = await stores.sessions.open(userId, PROOF)
        await stores.grants.create({
          kind: 'authorization_code',
          clientId: 'desk',
          userId,
          sessionId: session.id,
          scopes: count === 0 ? ['openid', 'offline_access'] : ['openid'],
          authTime: Date.now(),
          details: { amr: ['pwd'] },
          expiresAt: Date.now() + 600_000,
        })
        streams.push({
          connectionId: `c-${username}-${count}`,
          subject: userId,
          username,
          clientId: 'desk',
          address: '192.0.2.9',
          openedAt: 1_700_000_000_000 + Math.floor(streams.length / 2),
          expiresAt: undefined,
          subscriptions: 0,
        })
      }
    }
  })
  after(() => admin.stop())

  async function follow(path: string): Promise<Record<string, unknown>[]> {
    const items: Record<string, unknown>[] = []
    for (let next: string | null = path; next !== null; ) {
      const { status, body, text } = await admin.call('GET', next)
      assert.equal(status, 200, text)
      assert.ok(body.items.length <= 2)
      items.push(...body.items)
      next = body.next
    }
    return items
  }

  for (const [path, time] of [
    ['/admin/sessions', 'created_at'],
    ['/admin/grants', 'created_at'],
    ['/admin/streams', 'opened_at'],
  ] as const)
    test(`${path} lists those of all users, newest first and each once, or those of one`, async () => {
      const all = await follow(`${path}?limit=2`)
      assert.equal(new Set(all.map(({ id }) => id)).size, 9)
      assert.deepEqual([...new Set(all.map(({ username }) => username))].sort(), ['ada', 'ben', 'cleo'])
      const times = all.map((item) => String(item[time]))
      assert.deepEqual(times, [...times].sort().reverse())
      const own = await follow(`${path}?limit=2&user=ADA`)
      assert.deepEqual(
        own.map(({ user }) => user),
        Array(3).fill(ids.get('ada')),
      )
      assert.equal((await admin.call('GET', `${path}?user=nobody`)).status, 404)
      assert.equal((await admin.call('GET', `${path}?after=x`)).status, 400)
    })

  test('the lists read their index from where the last page ended, and sort nothing', async () => {
    const { db } = admin.env.database
    for (const table of ['sessions', 'grants']) {
      const open = sql.raw(table === 'sessions' ? 'ended_at' : 'revoked_at')
      for (const [user, index] of [
        [sql``, `${table}_open`],
        [sql`and user_id = ${ids.get('ada')}`, `${table}_by_user_id_created_at`],
      ] as const) {
        const query = sql`select * from ${sql.table(table)} where ${open} is null ${user}
          and (created_at, id) < (${Date.now()}, ${'x'}) order by created_at desc, id desc limit 2`
        const plan = await db.transaction().execute(async (tx) => {
          if (engine === 'postgres') await sql`set local enable_seqscan = off`.execute(tx)
          if (engine === 'postgres') await sql`set local enable_bitmapscan = off`.execute(tx)
          const explain = sql.raw(engine === 'sqlite' ? 'explain query plan' : 'explain')
          return JSON.stringify((await sql`${explain} ${query}`.execute(tx)).rows)
        })
        // Of nine rows, PostgreSQL rather filters those of a user.
        assert.match(plan, new RegExp(`(${index}${engine === 'sqlite' ? '' : `|${table}_open`}).*created_at`), plan)
        assert.doesNotMatch(plan, /B-TREE|Sort/, plan)
      }
    }
  })

  test('counts are exact up to a bound', async () => {
    const { body } = await admin.call('GET', '/admin/counts')
    const counts = new Map(body.items.map(({ name, count, more }: Record<string, unknown>) => [name, [count, more]]))
    assert.deepEqual(counts.get('users'), [3, false])
    assert.deepEqual(counts.get('sessions'), [9, false])
    assert.deepEqual(counts.get('grants'), [9, false])
    const row = (index: number) => sql`(${`r${index}`}, '[]', '', 0)`
    for (let from = 0; from < 10_001; from += 1000)
      await sql`insert into roles (name, scopes, description, require_second_factor)
        values ${sql.join(Array.from({ length: 1000 }, (_value, index) => row(from + index)))}`.execute(
        admin.env.database.db,
      )
    const { items } = (await admin.call('GET', '/admin/counts')).body
    assert.deepEqual(
      items.find(({ name }: { name: string }) => name === 'roles'),
      { name: 'roles', count: 10_000, more: true },
    )
  })

  test('one grant is revoked, once', async () => {
    const [grant] = (await admin.call('GET', '/admin/grants?user=ben')).body.items
    assert.partialDeepStrictEqual(grant, { client_id: 'desk', kind: 'authorization_code', offline: false })
    admin.events.length = 0
    assert.equal((await admin.call('DELETE', `/admin/grants/${grant.id}`)).status, 204)
    assert.partialDeepStrictEqual(admin.events, [{ kind: 'grant-revoked', grantId: grant.id }])
    assert.equal((await admin.call('DELETE', `/admin/grants/${grant.id}`)).status, 404)
    assert.equal((await admin.call('GET', '/admin/grants?user=ben')).body.items.length, 2)
  })

  test('signing out everywhere ends and counts sessions, grants and streams, in the same transaction', async () => {
    const { body } = await admin.call('DELETE', '/admin/users/cleo/sessions')
    assert.deepEqual(body, { ended: 3, grants: 3, streams: 3 })
    assert.deepEqual((await admin.call('GET', '/admin/sessions?user=cleo')).body.items, [])
    assert.deepEqual((await admin.call('GET', '/admin/grants?user=cleo')).body.items, [])
    assert.equal((await admin.call('GET', '/admin/sessions?user=ada')).body.items.length, 3)
    const { body: again } = await admin.call('DELETE', '/admin/users/cleo/sessions')
    assert.partialDeepStrictEqual(again, { ended: 0, grants: 0 })
  })

  test('one stream is found among those of all nodes', async () => {
    assert.deepEqual((await admin.call('DELETE', '/admin/streams/c-ada-1')).body, { closed: 1, silent: [] })
    assert.equal((await admin.call('DELETE', '/admin/streams/c-ada-9')).status, 404)
    assert.deepEqual((await admin.call('DELETE', '/admin/streams?user=ben')).body, { closed: 3, silent: [] })
  })
})
