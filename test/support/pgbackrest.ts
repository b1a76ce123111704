/** pgBackRest and PostgreSQL from Debian's packages, with the configuration that docs/replication.md shows, for tests of its recipe. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { createCertificate, writeCertificate } from './certificate.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'
import { BUCKET, startVersitygw, VERSITYGW_CREDENTIALS, type Versitygw } from './versitygw.ts'

const run = promisify(execFile)
/** That of Debian's pgBackRest. */
const POSTGRES = '/usr/lib/postgresql/15/bin'
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/pgbackrest/', import.meta.url))
const PAGE = new URL('../../docs/replication.md', import.meta.url)

/** The folder of the program; a text says what is missing. The package is unpacked, not installed. */
export async function findPgBackRest(): Promise<{ folder: string } | string> {
  if (process.getuid?.() !== 0) return 'needs root, to run PostgreSQL as the user postgres'
  if (!existsSync(POSTGRES)) return `${POSTGRES} not found: apt-get install postgresql-15, on Debian`
  if (existsSync('/usr/bin/pgbackrest')) return { folder: '/usr/bin' }
  const folder = join(CACHE, 'usr', 'bin')
  try {
    if (!existsSync(join(folder, 'pgbackrest'))) {
      await mkdir(CACHE, { recursive: true })
      await run('apt-get', ['download', 'pgbackrest'], { cwd: CACHE })
      const [file = ''] = (await readdir(CACHE)).filter((name) => name.endsWith('.deb'))
      await run('dpkg-deb', ['-x', file, '.'], { cwd: CACHE })
    }
    await run(join(folder, 'pgbackrest'), ['version'])
    return { folder }
  } catch {
    return 'pgbackrest not found: apt-get install pgbackrest, on Debian'
  }
}

export interface ArchivedPostgres {
  readonly url: string
  query(statement: string): Promise<readonly Record<string, unknown>[]>
  start(): Promise<void>
  stop(): Promise<void>
  /** All its files. */
  lose(): Promise<void>
  /** Adds a line to postgresql.conf. */
  configure(line: string): Promise<void>
  /** Of the page, by its comment in the first line. */
  readonly blocks: ReadonlyMap<string, readonly string[]>
  /** A command of pgBackRest, as the user of PostgreSQL. */
  backRest(...words: readonly string[]): Promise<void>
  close(): Promise<void>
}

/** With a bucket of versitygw, by TLS, which pgBackRest always uses. */
export async function startArchivedPostgres(pgBackRest: string, versitygw: string): Promise<ArchivedPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-archived-'))
  const readId = (flag: string): number => Number(execFileSync('id', [flag, 'postgres']).toString())
  const owner = { uid: readId('-u'), gid: readId('-g') }
  await chmod(folder, 0o755)
  const [data, logs] = [join(folder, 'data'), join(folder, 'logs')]
  for (const each of [data, logs]) {
    await mkdir(each, { mode: 0o700 })
    await chown(each, owner.uid, owner.gid)
  }
  const tls = await writeCertificate(createCertificate(['127.0.0.1']), folder)
  const s3 = await startVersitygw(versitygw, { cert: tls.certFile, key: tls.keyFile })
  const port = await freePort()
  const blocks = await readPage()
  const configuration = join(folder, 'pgbackrest.conf')
  await writeFile(configuration, (blocks.get('/etc/pgbackrest.conf') ?? []).map((line) => adapt(line, data)).join('\n'))
  const env = environment(folder, configuration, port, s3, pgBackRest)
  const asPostgres = { ...owner, env, cwd: folder }
  await run(
    join(POSTGRES, 'initdb'),
    ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--locale=C', '-N'],
    asPostgres,
  )
  const configure = (line: string) => appendFile(join(data, 'postgresql.conf'), `${line}\n`)
  for (const line of ["listen_addresses = '127.0.0.1'", `port = ${port}`, `unix_socket_directories = '${folder}'`])
    await configure(line)
  await chown(folder, owner.uid, owner.gid)
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const query = async (statement: string) => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end().catch(() => {})
    }
  }
  let child: ChildProcess | undefined
  const stop = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGINT')
    await ended
  }
  return {
    url,
    query,
    blocks,
    configure,
    stop,
    async start() {
      child = spawn(join(POSTGRES, 'postgres'), ['-D', data], { ...asPostgres, stdio: 'ignore' })
      await until('PostgreSQL has recovered', 60_000, () =>
        query('select pg_is_in_recovery() as recovering').then(
          ([row]) => row?.recovering === false,
          () => false,
        ),
      )
    },
    async lose() {
      for (const name of await readdir(data)) await rm(join(data, name), { recursive: true })
    },
    async backRest(...words) {
      await run(join(pgBackRest, 'pgbackrest'), words, asPostgres)
    },
    async close() {
      await stop()
      await s3.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** What differs from the page: the addresses and secrets of this test. */
function adapt(line: string, data: string): string {
  const [name = ''] = line.split('=')
  const values = new Map([
    ['repo1-s3-bucket', BUCKET],
    ['repo1-s3-endpoint', '127.0.0.1'],
    ['repo1-s3-region', 'us-east-1'],
    ['repo1-s3-key', VERSITYGW_CREDENTIALS.AWS_ACCESS_KEY_ID],
    ['repo1-s3-key-secret', VERSITYGW_CREDENTIALS.AWS_SECRET_ACCESS_KEY],
    ['repo1-cipher-pass', 'a passphrase of the test'],
    ['pg1-path', data],
  ])
  const value = values.get(name)
  return value === undefined ? line : `${name}=${value}`
}

function environment(
  folder: string,
  configuration: string,
  port: number,
  s3: Versitygw,
  pgBackRest: string,
): Record<string, string> {
  return {
    PATH: [pgBackRest, process.env.PATH].join(delimiter),
    PGBACKREST_CONFIG: configuration,
    PGBACKREST_LOG_PATH: join(folder, 'logs'),
    PGBACKREST_LOCK_PATH: join(folder, 'logs'),
    PGBACKREST_PG1_PORT: String(port),
    PGBACKREST_PG1_SOCKET_PATH: folder,
    PGBACKREST_REPO1_S3_URI_STYLE: 'path',
    PGBACKREST_REPO1_STORAGE_PORT: String(s3.port),
    PGBACKREST_REPO1_STORAGE_VERIFY_TLS: 'n',
  }
}

/** The blocks that are files, without their first line, which names them. */
async function readPage(): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = (await readFile(PAGE, 'utf8')).matchAll(/^```ini\n# (\S+)\n(.*?)^```$/gms)
  return new Map(Array.from(found, ([, name = '', text = '']) => [name, text.trim().split('\n')]))
}
