/** PostgreSQL fails over: the node follows the primary, live statements continue, and no write that was acknowledged is lost unseen. */
import assert from 'node:assert/strict'
import { chown, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { examine } from '../../packages/server/src/cli/doctor/doctor.ts'
import { parseDatabaseUrl } from '../../packages/server/src/config/database-url.ts'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { DatabaseServers } from '../../packages/server/src/store/database/servers/servers.ts'
import { writeSeenTimeline } from '../../packages/server/src/store/database/servers/timeline-file.ts'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { type EventClient, openEvents } from '../support/event-client.ts'
import { runInProcess } from '../support/in-process.ts'
import { SHARED_SERVER } from '../support/postgres.ts'
import { type PostgresPair, startPostgresPair } from '../support/postgres-pair.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

describe('a primary and a standby', () => {
  let pair: PostgresPair
  let folder: string
  let server: TestServer
  let token: string
  let written = 0

  before(async () => {
    pair = await startPostgresPair()
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-failover-'))
    server = await startNode()
    token = (await signIn(server, ADMIN)).access_token
    const created = await send('create table failover (id Integer primary key, note Text)')
    assert.equal(created.status, 200, await created.text())
  })
  after(async () => {
    await server.stop()
    await pair.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const startNode = () =>
    startTestServer({ engine: 'postgres', dataFolder: folder, databaseUrl: pair.url }, { flags: { '--demo': 'true' } })
  const send = (statement: string, headers = {}) =>
    fetch(`http://127.0.0.1:${server.port}/query`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain', ...headers },
      body: statement,
    })
  const insert = async () => {
    const id = ++written
    const { status } = await send(`insert into failover values (${id}, 'x')`)
    return { id, isAcknowledged: status === 200 }
  }
  const follow = () =>
    openEvents(`http://127.0.0.1:${server.port}/query`, {
      token,
      headers: { 'content-type': 'text/plain' },
      body: 'select id from failover',
    })
  /** Reads until the row arrives, and returns the kinds and reasons on the way. */
  const readUntil = async (events: EventClient, id: number): Promise<string[]> => {
    const seen: string[] = []
    for (;;) {
      const { data } = await events.next()
      seen.push(data.Kind === 'Reset' ? `Reset ${data.Reason}` : String(data.Kind))
      if (JSON.stringify(data.Put ?? []).includes(`"id":${id}}`)) return seen
    }
  }
  const isReplicated = async () => {
    const [{ lsn } = {}] = await pair.first.query('select pg_current_wal_lsn()::text as lsn')
    const [row] = await pair.second.query(`select pg_last_wal_replay_lsn() >= '${lsn}' as done`)
    return row?.done === true
  }

  test('a standby alone is refused, with the reason, and so is a server of another kind than asked for', async () => {
    const servers = new DatabaseServers(`${pair.second.url}?target_session_attrs=primary`)
    const client = servers.createClient({ connectionTimeoutMillis: 1500 })
    await assert.rejects(client.connect(), /No server of the database accepts writes: .* is a standby, or read-only/)
    await servers.close()
  })

  test('a slow link: one plain host is connected to once, and a host that must accept writes within the time to connect', async () => {
    const relay = await startTcpProxy('127.0.0.1', pair.first.port, 1200)
    const connect = async (url: string) => {
      const servers = new DatabaseServers(url)
      const client = servers.createClient({ connectionTimeoutMillis: 5000 })
      try {
        await client.connect()
      } finally {
        await client.end()
        await servers.close()
      }
    }
    const url = `postgres://postgres@127.0.0.1:${relay.port}/postgres`
    await connect(url)
    assert.equal(relay.accepted(), 1)
    await connect(`${url}?target_session_attrs=read-write`)
    await relay.close()
  })

  test('one plain host whose database is replaced by another is used, as without failover', async () => {
    const relay = await startTcpProxy('127.0.0.1', pair.first.port)
    const other = new URL(process.env[SHARED_SERVER] ?? '')
    const { port } = other
    other.port = String(relay.port)
    const servers = new DatabaseServers(other.href)
    const describeSystem = async () => {
      const client = servers.createClient({ connectionTimeoutMillis: 2000 })
      await client.connect()
      const { rows } = await client.query<{ id: string }>(
        'select system_identifier::text as id from pg_control_system()',
      )
      await client.end()
      return rows[0]?.id
    }
    const before = await describeSystem()
    relay.redirect(Number(port))
    assert.notEqual(await describeSystem(), before)
    await servers.close()
    await relay.close()
  })

  test('a port that cannot be connected to ends no process', async () => {
    const servers = new DatabaseServers('postgres://u@h/d?host=127.0.0.1,127.0.0.1&port=99999,99998')
    const client = servers.createClient({ connectionTimeoutMillis: 1500 })
    await assert.rejects(client.connect(), /cannot be reached/)
    await servers.close()
  })

  test('a restart of the server: live statements continue without a Reset', async () => {
    const events = await follow()
    const { id } = await insert()
    await readUntil(events, id)
    await pair.first.stop()
    await pair.first.start()
    const next = await insert()
    assert.ok(next.isAcknowledged, 'the write waits for the server')
    assert.deepEqual(
      (await readUntil(events, next.id)).filter((kind) => kind.startsWith('Reset')),
      [],
    )
    events.close()
  })

  test('a promotion: writes within a second, everything acknowledged is there, live statements continue and resume', async () => {
    const events = await follow()
    const gone = await follow()
    const { id } = await insert()
    await readUntil(events, id)
    const position = (await gone.next()).id ?? ''
    gone.close()
    await until('the standby has everything', 5000, isReplicated)
    const usual = await measureTime(() => pair.second.query('select 1'))
    await pair.first.stop('kill')
    const waiting = insert()
    await pair.second.query('select pg_promote()')
    const promoted = performance.now()
    const first = (await waiting).isAcknowledged ? await waiting : await insert()
    const took = performance.now() - promoted
    assert.ok(first.isAcknowledged)
    // A connection of the test shows how busy the machine is.
    assert.ok(took < Math.max(1000, 30 * usual), `${took} ms; a connection takes ${usual} ms`)
    const seen = await readUntil(events, first.id)
    assert.deepEqual(
      seen.filter((kind) => kind.startsWith('Reset')),
      [],
    )
    events.close()
    const back = await openEvents(`http://127.0.0.1:${server.port}/query`, {
      token,
      headers: { 'content-type': 'text/plain', 'last-event-id': position },
      body: 'select id from failover',
    })
    assert.equal((await back.next()).data.Recovered, true)
    back.close()
    const rows = (await (await send('select count(*) as n from failover')).json()) as { Rows: { n: number }[] }
    assert.ok((rows.Rows[0]?.n ?? 0) >= 3)
  })

  test('the first start on a primary that was promoted before finds nothing lost', async () => {
    await pair.second.query('create database fresh')
    const other = await mkdtemp(join(tmpdir(), 'gatehouse-fresh-'))
    const databaseUrl = pair.url.replace(/\/postgres$/, '/fresh')
    const fresh = await startTestServer({ engine: 'postgres', dataFolder: other, databaseUrl })
    assert.equal((await fetch(`http://127.0.0.1:${fresh.port}/readyz`)).status, 200)
    await fresh.stop()
    await rm(other, { recursive: true, force: true })
  })

  test('the old primary is back, and alone: nothing is written to it', async () => {
    await pair.first.start()
    await pair.second.stop()
    const { status } = await send("insert into failover values (-1, 'wrong')")
    assert.equal(status, 503)
    assert.deepEqual(await pair.first.query('select * from gatehouse_data.failover where id < 0'), [])
    // As a node of the same data folder does that is started now.
    const servers = new DatabaseServers(parseDatabaseUrl(pair.url), { dataFolder: folder })
    const client = servers.createClient({ connectionTimeoutMillis: 1200 })
    await assert.rejects(client.connect(), /is an old primary, which another has replaced/)
    await servers.close()
    const commands = ['--database-url', pair.url, '--data', folder]
    const refused = await runInProcess(['role', 'add', 'wrong', '--scope', 'Platform/Trading', ...commands])
    assert.match(refused.stderr, /is an old primary, which another has replaced/)
    assert.deepEqual(await pair.first.query("select * from gatehouse.roles where name = 'wrong'"), [])

    const accept = (url: string) => runInProcess(['database', 'accept', '--database-url', url, '--data', folder])
    const unreachable = await accept('postgres://u@127.0.0.1:1,127.0.0.2:1/d')
    assert.notEqual(unreachable.status, 0)
    assert.equal((await seenTimeline(folder)).timeline, 2)
    const { stdout } = await accept(pair.url)
    assert.match(stdout, /^No loss is waiting to be accepted\.\n.* timeline 1 of .* \(before: timeline 2/)
    assert.match(stdout, /Restart the node/)
    assert.equal((await seenTimeline(folder)).timeline, 1)
    await pair.second.start()
    await until('the node that runs remembers its own', 3000, async () => (await seenTimeline(folder)).timeline === 2)
    assert.match((await accept(pair.url)).stdout, /nothing was changed/)
    await until('the new primary is found', 2000, async () => (await insert()).isAcknowledged)
  })
})

const measureTime = async (act: () => Promise<unknown>): Promise<number> => {
  const began = performance.now()
  await act()
  return performance.now() - began
}

const seenTimeline = async (folder: string): Promise<{ timeline?: number }> =>
  JSON.parse(await readFile(join(folder, 'database-timeline.tmp'), 'utf8'))

test('the timeline that root remembers belongs to the owner of the data folder', {
  skip: process.getuid?.() !== 0 && 'only root can give files away',
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-owner-'))
  t.after(() => rm(folder, { recursive: true }))
  await chown(folder, 65_534, 65_534)
  writeSeenTimeline(folder, { system: '1', timeline: 2 })
  const { uid, gid } = await stat(join(folder, 'database-timeline.tmp'))
  assert.deepEqual([uid, gid], [65_534, 65_534])
})

const readConfig = (data: string, url: string) =>
  loadConfig({ flags: { '--data': data, '--database-url': url } }).config

describe('a standby that is behind is promoted', () => {
  test('writes stop with the reason, reads do not, until an operator accepts the loss', async () => {
    const pair = await startPostgresPair()
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-failover-'))
    const place = { engine: 'postgres', dataFolder: folder, databaseUrl: pair.url } as const
    const server = await startTestServer(place, { flags: { '--demo': 'true' } })
    try {
      const token = (await signIn(server, ADMIN)).access_token
      const send = (body: string) =>
        fetch(`http://127.0.0.1:${server.port}/query`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
          body,
        })
      await send('create table failover (id Integer primary key)')
      await send('insert into failover values (1)')
      const events = await openEvents(`http://127.0.0.1:${server.port}/query`, {
        token,
        headers: { 'content-type': 'text/plain' },
        body: 'select id from failover',
      })
      await until('the standby has the row', 5000, async () => {
        const rows = await pair.second.query('select * from gatehouse_data.failover').catch(() => [])
        return rows.length === 1
      })
      await pair.second.query("alter system set primary_conninfo = ''")
      await pair.second.query('select pg_reload_conf()')
      await until('replication has stopped', 5000, async () => {
        const rows = await pair.first.query('select * from pg_stat_replication')
        return rows.length === 0
      })
      assert.equal((await send('insert into failover values (2)')).status, 200)
      await pair.first.stop('kill')
      await pair.second.query('select pg_promote()')
      const readStatus = async () => {
        const reply = await send('insert into failover values (3)')
        return `${reply.status} ${((await reply.json()) as { Code?: string }).Code}`
      }
      await until('writes are stopped', 3000, async () => (await readStatus()) === '503 Data.LostWrites')
      assert.equal((await send('select id from failover')).status, 200)
      const ready = await fetch(`http://127.0.0.1:${server.port}/readyz`)
      assert.equal(ready.status, 503)
      assert.match(await ready.text(), /it lacks writes that were acknowledged before a failover/)
      assert.match(server.log.join(''), /writes are stopped.*docs\/high-availability\.md/)

      for (;;) {
        const { data } = await events.next()
        if (data.Kind !== 'Reset') continue
        assert.equal(data.Reason, 'Lost')
        break
      }
      events.close()
      const findings = await examine(readConfig(place.dataFolder, place.databaseUrl))
      assert.ok(findings.some(({ code, level }) => code === 'database.lost_writes' && level === 'fault'))

      const accepted = await runInProcess(['database', 'accept', '--database-url', pair.url, '--data', folder])
      assert.match(accepted.stdout, /^Accepted: the node .* has acknowledged writes up to .*\nEvery node writes again/)
      assert.equal((await seenTimeline(folder)).timeline, 2)
      await until(
        'writes are possible',
        3000,
        async () => (await send('insert into failover values (4)')).status === 200,
      )
      const { stdout } = await runInProcess(['database', 'status', '--database-url', pair.url, '--data', folder])
      assert.match(
        stdout,
        new RegExp(
          `127.0.0.1:${pair.first.port}  unreachable  .*\n127.0.0.1:${pair.second.port}  primary  timeline 2  in use`,
        ),
      )
    } finally {
      await server.stop()
      await pair.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('a commit that waits for a standby', { skip: IS_LONG_RUN ? false : 'runs in npm run test:all' }, () => {
  test('and is cancelled is not acknowledged, although PostgreSQL reports success', async () => {
    const pair = await startPostgresPair()
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-failover-'))
    const place = { engine: 'postgres', dataFolder: folder, databaseUrl: pair.url } as const
    const server = await startTestServer(place, { flags: { '--demo': 'true', '--query-seconds': '2' } })
    try {
      const token = (await signIn(server, ADMIN)).access_token
      const send = (body: string, headers: object = { 'idempotency-key': String(body.length) }) =>
        fetch(`http://127.0.0.1:${server.port}/query`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain', ...headers },
          body,
        })
      await send('create table failover (id Integer primary key)')
      await pair.first.query("alter system set synchronous_standby_names = 'nobody'")
      await pair.first.query('select pg_reload_conf()')
      await until('commits wait', 5000, async () => {
        const [row] = await pair.first.query('show synchronous_standby_names')
        return row?.synchronous_standby_names === 'nobody'
      })
      const reply = await send('insert into failover values (1), (2)')
      assert.equal(reply.status, 503, `not as if it had been stopped: ${await reply.text()}`)
      const again = await send('insert into failover values (1), (2)')
      assert.equal(again.status, 503, `repeated with its key: ${await again.text()}`)
      const short = [10, 11, 12, 13].map((id) => send(`insert into failover values (${id})`, {}))
      const cancelWaits = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`
      const cancelling = setInterval(() => void pair.first.query(cancelWaits), 300)
      const replies = await Promise.all(short).finally(() => clearInterval(cancelling))
      for (const { status } of replies) assert.equal(status, 503, 'a short write that shares its commit')
      assert.equal(
        (await pair.first.query('select * from gatehouse_data.failover where id < 10')).length,
        2,
        'it was committed there',
      )
    } finally {
      await pair.first.query('alter system reset synchronous_standby_names')
      await pair.first.query('select pg_reload_conf()')
      await server.stop()
      await pair.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('two primaries', { skip: IS_LONG_RUN ? false : 'runs in npm run test:all' }, () => {
  test('the node moves to the later timeline within seconds, and says that writes on the other are lost', async () => {
    const pair = await startPostgresPair()
    const folder = await mkdtemp(join(tmpdir(), 'gatehouse-failover-'))
    const place = { engine: 'postgres', dataFolder: folder, databaseUrl: pair.url } as const
    const server = await startTestServer(place, { flags: { '--demo': 'true' } })
    try {
      const token = (await signIn(server, ADMIN)).access_token
      const send = async (body: string) => {
        const reply = await fetch(`http://127.0.0.1:${server.port}/query`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
          body,
        })
        const { Code } = (await reply.json()) as { Code?: string }
        return Code ?? 'ok'
      }
      await send('create table failover (id Integer primary key)')
      await until('the standby has the table', 5000, async () => {
        const rows = await pair.second.query("select to_regclass('gatehouse_data.failover') is not null as found")
        return rows[0]?.found === true
      })
      await pair.second.query('select pg_promote()')
      const promoted = performance.now()
      const acknowledged: number[] = []
      const hasMoved = () => server.log.some((line) => line.includes('the database has failed over'))
      let code = 'ok'
      for (let id = 1; code !== 'Data.LostWrites' && performance.now() - promoted < 10_000; id++) {
        const isLast = hasMoved()
        code = await send(`insert into failover values (${id})`)
        if (code === 'ok') acknowledged.push(id)
        if (isLast && code === 'ok') break
      }
      const took = performance.now() - promoted
      assert.ok(took < 4000, `${took} ms`)
      const kept = new Set(
        (await pair.second.query('select id from gatehouse_data.failover')).map(({ id }) => Number(id)),
      )
      const lost = acknowledged.filter((id) => !kept.has(id)).length
      // Unless the node had moved before its first write.
      assert.equal(code, lost > 0 ? 'Data.LostWrites' : 'ok', `${lost} of ${acknowledged.length} are lost`)
    } finally {
      await server.stop()
      await pair.stop()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
