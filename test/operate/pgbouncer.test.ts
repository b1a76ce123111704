/** PgBouncer in front of PostgreSQL: session pooling works, transaction pooling is refused. Needs Debian's package: `npm run test:all`. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { openEvents } from '../support/event-client.ts'
import { freePort } from '../support/free-port.ts'
import { createPostgresDatabase, stopOwnPostgres } from '../support/postgres.ts'
import { startTestServer } from '../support/server.ts'
import { until } from '../support/until.ts'

const PROGRAM = '/usr/sbin/pgbouncer'
const missing = existsSync(PROGRAM) ? undefined : `${PROGRAM} not found: apt-get install pgbouncer, on Debian or Ubuntu`

describe('PgBouncer', { skip: IS_LONG_RUN ? missing : 'runs in npm run test:all' }, () => {
  let database: Awaited<ReturnType<typeof createPostgresDatabase>>
  let folder: string
  const children: ChildProcess[] = []

  before(async () => {
    database = await createPostgresDatabase()
    folder = await mkdtemp(join(tmpdir(), 'gatehouse-pgbouncer-'))
    await chmod(folder, 0o755)
  })
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await database.drop()
    await stopOwnPostgres()
    await rm(folder, { recursive: true, force: true })
  })

  /** Returns the URL of the database through it. */
  async function startPooler(mode: 'session' | 'transaction'): Promise<string> {
    const target = new URL(database.url)
    const port = await freePort()
    const users = join(folder, 'users.txt')
    await writeFile(users, `"${target.username}" "${target.password}"\n`)
    const file = join(folder, `${mode}.ini`)
    await writeFile(
      file,
      `[databases]\n* = host=${target.hostname} port=${target.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}
unix_socket_dir =\nauth_type = trust\nauth_file = ${users}\npool_mode = ${mode}\ndefault_pool_size = 60\nmax_client_conn = 200\n`,
    )
    const ids =
      process.getuid?.() === 0
        ? { uid: Number(execFileSync('id', ['-u', 'postgres'])), gid: Number(execFileSync('id', ['-g', 'postgres'])) }
        : {}
    const child = spawn(PROGRAM, [file], { ...ids, stdio: 'ignore' })
    children.push(child)
    const url = new URL(database.url)
    url.port = String(port)
    await until('PgBouncer listens', 5000, async () => {
      const { connect } = await import('node:net')
      return new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1')
        socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
        socket.once('close', () => resolve(false))
        socket.once('connect', () => socket.destroy())
      })
    })
    return url.href
  }

  test('pool_mode = transaction: the start is refused, says what to do, and changes nothing', async () => {
    const databaseUrl = await startPooler('transaction')
    const place = { engine: 'postgres', dataFolder: join(folder, 'refused'), databaseUrl } as const
    await assert.rejects(startTestServer(place), /connection pooler .* set pool_mode = session \(PgBouncer\)/)
    assert.equal(existsSync(place.dataFolder), false)
  })

  test('pool_mode = session: tokens, writes, live statements and their wake-ups', async () => {
    const databaseUrl = await startPooler('session')
    const place = { engine: 'postgres', dataFolder: join(folder, 'data'), databaseUrl } as const
    const server = await startTestServer(place, { flags: { '--demo': 'true' } })
    try {
      const token = (await signIn(server, ADMIN)).access_token
      const address = `http://127.0.0.1:${server.port}/query`
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' }
      const send = (body: string) => fetch(address, { method: 'POST', headers, body })
      assert.equal((await send('create table pooled (id Integer primary key)')).status, 200)
      const events = await openEvents(address, {
        token,
        headers: { 'content-type': 'text/plain' },
        body: 'select id from pooled',
      })
      assert.equal((await events.next()).data.Kind, 'Snapshot')
      assert.equal((await send('insert into pooled values (1)')).status, 200)
      assert.deepEqual(((await events.next()).data.Put as { Key: unknown }[])[0]?.Key, [1])
      events.close()
    } finally {
      await server.stop()
    }
  })
})
