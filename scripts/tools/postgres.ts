/** A real PostgreSQL 15 with the demonstration's tables, in a temporary folder: what clients see there is what our catalogue must say. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { DEMO, DEMO_ROWS } from '../../packages/server/src/declarative/demo.ts'
import { freePort } from '../../test/support/free-port.ts'

const VERSION = 15
/** Debian's place; other systems have it in PATH. */
const FOLDERS = [`/usr/lib/postgresql/${VERSION}/bin`, ...(process.env.PATH ?? '').split(':')]
export const DATABASE = 'gatehouse'
/** Owns the tables; clients sign in as READER, who may only read them. */
const OWNER = 'gatehouse'
export const READER = 'alice'

const TYPES: Readonly<Record<string, string>> = {
  Text: 'text',
  Integer: 'bigint',
  Double: 'double precision',
  Boolean: 'boolean',
  Timestamp: 'timestamp with time zone',
  Date: 'date',
}

export interface RealPostgres {
  readonly port: number
  readonly version: string
  /** Names by OID of what the demonstration created: clients send these ids in later statements. */
  readonly objects: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** Undefined where the machine has no PostgreSQL 15. */
export async function startRealPostgres(): Promise<RealPostgres | undefined> {
  const bin = FOLDERS.find((folder) => existsSync(join(folder, 'initdb')) && readMajorVersion(folder) === VERSION)
  if (bin === undefined) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-postgres-'))
  const port = await freePort()
  const user = unprivilegedUser()
  if (user !== undefined) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const options = { ...user, cwd: folder, stdio: 'ignore' } as const
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', OWNER, '--auth=trust', '--encoding=UTF8', '--locale=C'], options)
  const settings = ['fsync=off', 'timezone=UTC', 'log_timezone=UTC', 'listen_addresses=127.0.0.1', `port=${port}`]
  const flags = [...settings, `unix_socket_directories=${folder}`].flatMap((each) => ['-c', each])
  const server = spawn(join(bin, 'postgres'), ['-D', data, ...flags], options)
  const ended = once(server, 'exit')
  const stop = async () => {
    server.kill('SIGINT')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const { version, objects } = await createDemonstration(port)
    return { port, version, objects, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function readMajorVersion(folder: string): number {
  const words = execFileSync(join(folder, 'initdb'), ['--version'], { encoding: 'utf8' })
  return Number(/ (\d+)/.exec(words)?.[1])
}

/** PostgreSQL does not start as root. */
function unprivilegedUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const readId = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: readId('-u'), gid: readId('-g') }
}

async function createDemonstration(port: number): Promise<Pick<RealPostgres, 'version' | 'objects'>> {
  const first = await connectWhenReady(port)
  await first.query(`CREATE DATABASE ${DATABASE}`)
  await first.query(`CREATE ROLE ${READER} LOGIN`)
  await first.end()
  const client = new pg.Client({ host: '127.0.0.1', port, user: OWNER, database: DATABASE })
  await client.connect()
  for (const { name, description, columns } of DEMO.tables ?? []) {
    const keys = columns.filter((column) => column.primary_key === true).map((column) => column.name)
    const definitions = columns.map(
      (column) => `${column.name} ${findType(column.type)}${column.nullable === false ? ' NOT NULL' : ''}`,
    )
    await client.query(`CREATE TABLE ${name} (${definitions.join(', ')}, PRIMARY KEY (${keys.join(', ')}))`)
    await client.query(`COMMENT ON TABLE ${name} IS '${description ?? ''}'`)
    await insertRows(client, name)
  }
  await client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${READER}`)
  await client.query('ANALYZE')
  const { rows } = await client.query('SHOW server_version')
  const { rows: created } = await client.query(
    `SELECT oid::int8, relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
     UNION ALL SELECT oid::int8, 'type ' || typname FROM pg_type WHERE typnamespace = 'public'::regnamespace
     UNION ALL SELECT oid::int8, 'constraint ' || conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace
     UNION ALL SELECT oid::int8, 'database' FROM pg_database WHERE datname = current_database()
     UNION ALL SELECT oid::int8, 'role ' || rolname FROM pg_roles WHERE rolname = '${READER}'`,
  )
  await client.end()
  const objects = Object.fromEntries(created.map(({ oid, name }) => [String(oid), String(name)]))
  return { version: String(rows[0].server_version), objects }
}

async function connectWhenReady(port: number): Promise<pg.Client> {
  for (let left = 100; ; left -= 1) {
    const client = new pg.Client({ host: '127.0.0.1', port, user: OWNER, database: 'postgres' })
    try {
      await client.connect()
      return client
    } catch (error) {
      if (left === 0) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

function findType(type: string): string {
  return TYPES[type] ?? type.replace('Decimal', 'numeric')
}

async function insertRows(client: pg.Client, table: string): Promise<void> {
  let names: readonly (string | null)[] | undefined
  let batch: (string | null)[][] = []
  const write = async () => {
    if (batch.length === 0 || names === undefined) return
    const width = names.length
    const rows = batch.map((_, row) => `(${Array.from({ length: width }, (_, at) => `$${row * width + at + 1}`)})`)
    await client.query(`INSERT INTO ${table} (${names.join(', ')}) VALUES ${rows.join(', ')}`, batch.flat())
    batch = []
  }
  for await (const row of DEMO_ROWS.get(table)?.() ?? []) {
    const values = [...row]
    if (names === undefined) names = values
    else if (batch.push(values) === 500) await write()
  }
  await write()
}
