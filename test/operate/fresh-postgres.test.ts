/** The documented installation, on a PostgreSQL server that has never seen the product and with each kind of database user. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import pg from 'pg'
import { startQueryServer } from '../query/query-server.ts'
import type { TestPlace } from '../support/engines.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { runGatehouse } from '../support/process.ts'
import { startTestServer } from '../support/server.ts'

interface Case {
  readonly name: string
  /** Attributes of the user as in createuser. */
  readonly user: string
  /** Run by the administrator before the first start. */
  readonly before?: string
  readonly roleExists: boolean
  /** Who the connections of queries act as. */
  readonly queriesRunAs: string
}

const CASES: readonly Case[] = [
  {
    name: 'install.md: a user without the right to create roles, on a server without the role, runs queries itself',
    user: '',
    roleExists: false,
    queriesRunAs: 'gatehouse',
  },
  {
    name: 'install.md: a user that may create roles creates gatehouse_query, and queries run as it',
    user: 'createrole',
    roleExists: true,
    queriesRunAs: 'gatehouse_query',
  },
  {
    name: 'postgresql.md: an administrator has created and granted the role, and queries run as it',
    user: '',
    before: 'create role gatehouse_query nologin noinherit; grant gatehouse_query to gatehouse',
    roleExists: true,
    queriesRunAs: 'gatehouse_query',
  },
  {
    name: 'postgresql.md: the role exists but belongs to another installation, and queries run as the user',
    user: '',
    before: 'create role gatehouse_query nologin noinherit',
    roleExists: true,
    queriesRunAs: 'gatehouse',
  },
]

describe('a PostgreSQL server that has never seen the product', () => {
  let base: string
  let server: PostgresServer | undefined
  after(async () => {
    await server?.stop()
    await rm(base, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  })

  /** Roles belong to the whole server, which is made as it was before the first case. */
  async function install({
    user,
    before,
  }: Pick<Case, 'user' | 'before'>): Promise<{ place: TestPlace; admin: pg.Client }> {
    base ??= await mkdtemp(join(tmpdir(), 'gatehouse-fresh-'))
    server ??= await startPostgres()
    const admin = new pg.Client({ connectionString: server.url })
    await admin.connect()
    await admin.query('drop database if exists gatehouse with (force)')
    await admin.query('drop role if exists gatehouse_query, gatehouse')
    assert.equal(await hasRole(admin), false, 'the server is fresh')
    await admin.query(`create role gatehouse login password 'plain' ${user}`)
    await admin.query(`create database gatehouse owner gatehouse template template0 encoding 'UTF8' locale 'C'`)
    if (before !== undefined) await admin.query(before)
    const url = Object.assign(new URL(server.url), { username: 'gatehouse', password: 'plain', pathname: '/gatehouse' })
    const dataFolder = join(await mkdtemp(join(base, 'place-')), 'data')
    return { place: { engine: 'postgres', dataFolder, databaseUrl: url.href }, admin }
  }

  for (const [index, { name, roleExists, queriesRunAs, ...how }] of CASES.entries()) {
    test(name, index === 0 ? {} : IN_LONG_RUNS, async () => {
      const { place, admin } = await install(how)
      try {
        for (const start of ['first', 'second']) {
          const server = await startTestServer(place)
          assert.equal((await fetch(`${server.issuer}/readyz`)).status, 200, start)
          await server.stop()
        }
        const query = await startQueryServer(place)
        await query.query('CREATE TABLE notes (id Integer PRIMARY KEY)')
        assert.equal((await query.call('/query/notes/insert', { id: 1 })).status, 200)
        assert.equal((await query.query('SELECT id FROM notes WHERE id = 1')).json.RowCount, 1)
        assert.equal(await queryUser(place), queriesRunAs)
        await query.stop()
        assert.equal(await hasRole(admin), roleExists)
      } finally {
        await admin.end()
      }
    })
  }

  test('for a user without the right to create schemas, the error says what to grant', async () => {
    const { place, admin } = await install({ user: '' })
    await admin.query('alter database gatehouse owner to postgres')
    await admin.end()
    const args = ['serve', '--port', '0', '--data', place.dataFolder, '--database-url', place.databaseUrl]
    const { status, stderr } = await runGatehouse(args)
    assert.equal(status, 1)
    assert.match(
      stderr,
      /^gatehouse: The database user gatehouse has no permission to create the schema gatehouse: run GRANT CREATE ON DATABASE/,
    )
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr)
  })
})

async function hasRole(admin: pg.Client): Promise<boolean> {
  return (await admin.query(`select 1 from pg_roles where rolname = 'gatehouse_query'`)).rowCount !== 0
}

/** Whether the role can read the table shows which of the two was prepared. */
async function queryUser({ databaseUrl }: TestPlace): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ role: string | null }>(
      `select (select r.rolname from pg_roles r where r.rolname = 'gatehouse_query'
         and has_table_privilege(r.oid, 'gatehouse_data.notes', 'SELECT')) as role`,
    )
    return rows[0]?.role ?? 'gatehouse'
  } finally {
    await client.end()
  }
}
