/** The clients that `npm run tools` runs: what each needs, where its program is, and how it gets the server's address. */
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CACHE, type Ended, runCommand } from './command.ts'
import { debianCommand, fetchDebian } from './debian.ts'

const here = (path: string): string => fileURLToPath(new URL(`clients/${path}`, import.meta.url))
const PGX = join(CACHE, 'pgx')
const RUST = join(CACHE, 'rust')
const PREPARE_SECONDS = 1200
const RUN_SECONDS = 300

export interface Client {
  /** Names its file in the corpus too. */
  readonly name: string
  /** Says what is missing and how to get it, if anything is. Downloads what a registry has. */
  readonly prepare: () => Promise<Prepared>
  readonly command: readonly string[]
  /** What is wrong in its output, for programs that report errors and go on. */
  readonly check?: (output: string) => string | undefined
  /** A file that is its input. */
  readonly input?: string
  readonly environment?: Readonly<Record<string, string>>
  /** How long it may run, if not five minutes. */
  readonly seconds?: number
}

export type Prepared =
  | { readonly kind: 'ready'; readonly version: string }
  | { readonly kind: 'missing'; readonly reason: string }

/** Where a client connects, and as whom. */
export interface Target {
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  /** A real PostgreSQL, to check the programs themselves. */
  readonly isPostgres: boolean
}

const PSQL_FLAGS = ['-X', '-a', '-P', 'pager=off']

/** The errors that its script provokes; psql goes on after others too. */
const PROVOKED = [
  // psql 15 has no \\bind, and joins the line with the next.
  /Unexpected SELECT|syntax error/,
  /column "?nothing"? does not exist|no column nothing/,
  /nothing_of_this_name/,
  /division by zero|divided by zero/i,
  /pg_get_viewdef/,
]

function checkPsql(output: string): string | undefined {
  const errors = output.split('\n').filter((line) => /^(psql:.*)?(ERROR|FATAL):/.test(line))
  const others = errors.filter((line) => !PROVOKED.some((pattern) => pattern.test(line)))
  return others.length === 0 ? undefined : `${others.length} errors: ${others.join(' / ').slice(0, 600)}`
}

export const CLIENTS: readonly Client[] = [
  {
    name: 'psql-15',
    prepare: () => system('psql', ['--version'], 'apt-get install postgresql-client'),
    command: ['psql', ...PSQL_FLAGS],
    input: 'psql.sql',
    check: checkPsql,
  },
  debianPsql(17, 'trixie'),
  debianPsql(18, 'forky', ['libpq-oauth']),
  python('psycopg', ['psycopg[binary]']),
  python('asyncpg', ['asyncpg']),
  python('sqlalchemy', ['sqlalchemy[asyncio]', 'psycopg2-binary', 'psycopg[binary]', 'asyncpg']),
  python('pandas', ['pandas', 'sqlalchemy', 'psycopg2-binary']),
  python('adbc', ['adbc-driver-postgresql', 'pyarrow']),
  odbc(),
  python('duckdb', ['duckdb', 'duckdb-extensions', 'duckdb-extension-postgres']),
  // In an environment of its own: it needs an older SQLAlchemy, this release of Flask-Caching, and two packages that it does not name.
  // It creates its own database first, by more than a hundred migrations.
  {
    ...python(
      'superset',
      ['apache-superset', 'psycopg2-binary', 'Flask-Caching==2.3.0', 'rich', 'cachetools'],
      'superset',
    ),
    seconds: 1200,
  },
  {
    name: 'node-postgres',
    command: [process.execPath, here('node-postgres.ts')],
    prepare: async () => ({ kind: 'ready', version: await packageVersion('pg') }),
  },
  {
    name: 'pgx',
    command: [PGX],
    prepare: () =>
      built(
        ['go', 'build', '-C', here('pgx'), '-mod=mod', '-o', PGX, '.'],
        'apt-get install golang, at least 1.24',
      ).then(withVersion(here('pgx/go.mod'), /pgx\/v5 v(\S+)/)),
  },
  {
    name: 'tokio-postgres',
    command: [join(RUST, 'debug/gatehouse-tokio-postgres')],
    prepare: () =>
      built(
        ['cargo', 'build', '--quiet', '--manifest-path', here('tokio-postgres/Cargo.toml'), '--target-dir', RUST],
        'install Rust, at least 1.85',
      ).then(withVersion(here('tokio-postgres/Cargo.lock'), /name = "tokio-postgres"\nversion = "(.*)"/)),
  },
  pgjdbc(),
]

export async function prepareClient(client: Client): Promise<Prepared> {
  await mkdir(CACHE, { recursive: true })
  return client.prepare()
}

export async function runClient(client: Client, target: Target): Promise<Ended> {
  const environment = {
    ...{ PGHOST: '127.0.0.1', PGPORT: String(target.port), PGUSER: target.user, PGPASSWORD: target.password },
    ...{ PGDATABASE: target.database, PGCONNECT_TIMEOUT: '10', PYTHONDONTWRITEBYTECODE: '1' },
    ...(target.isPostgres ? { TOOLS_POSTGRES: '1' } : {}),
    ...client.environment,
  }
  const input = client.input === undefined ? undefined : await readFile(here(client.input))
  return runCommand(client.command, { environment, input, seconds: client.seconds ?? RUN_SECONDS })
}

async function system(program: string, args: readonly string[], remedy: string): Promise<Prepared> {
  const { status, output } = await runCommand([program, ...args], { seconds: 60 })
  const version = /\d+(\.\d+)+/.exec(output)?.[0]
  if (status === 0 && version !== undefined) return { kind: 'ready', version }
  return { kind: 'missing', reason: `${program} is not installed: ${remedy}` }
}

/** A program that is built first. */
async function built(command: readonly string[], remedy: string): Promise<Prepared> {
  const [program = ''] = command
  const found = await system(program, [program === 'go' ? 'version' : '--version'], remedy)
  if (found.kind === 'missing') return found
  const { status, output } = await runCommand(command, { seconds: PREPARE_SECONDS })
  return status === 0 ? found : { kind: 'missing', reason: `${program} cannot build it: ${output.slice(-300)}` }
}

/** psql of another release of Debian than the machine's, unpacked into the cache with its own libraries. */
function debianPsql(major: number, suite: string, more: readonly string[] = []): Client {
  const root = join(CACHE, suite)
  const command = debianCommand(root, `usr/lib/postgresql/${major}/bin/psql`)
  return {
    name: `psql-${major}`,
    command: [...command, ...PSQL_FLAGS],
    input: 'psql.sql',
    check: checkPsql,
    async prepare() {
      const problem = await fetchDebian(suite, [`postgresql-client-${major}`, ...more], root)
      if (problem !== undefined) return { kind: 'missing', reason: problem }
      const [program = '', ...args] = command
      return system(program, [...args, '--version'], `remove ${root}, so that it is fetched again`)
    },
  }
}

/** A program in Python that has the name of the client, in a virtual environment that most of them share. */
/** They create tables: as the administrator, and not on PostgreSQL, whose reader may not. */
export const WRITING_CLIENTS: readonly Client[] = [python('adbc_ingest', ['adbc-driver-postgresql', 'pyarrow'])]

function python(name: string, packages: readonly string[], environment = 'python'): Client {
  const venv = join(CACHE, environment)
  return {
    name,
    command: [join(venv, 'bin/python'), here(`${name}_.py`)],
    async prepare() {
      const found = await system('python3', ['--version'], 'apt-get install python3-venv')
      if (found.kind === 'missing') return found
      if (!existsSync(join(venv, 'bin/pip')))
        await runCommand(['python3', '-m', 'venv', venv], { seconds: PREPARE_SECONDS })
      const install = [join(venv, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check', ...packages]
      const { status, output } = await runCommand(install, { seconds: PREPARE_SECONDS })
      if (status !== 0)
        return { kind: 'missing', reason: `pip install ${packages.join(' ')} failed: ${output.slice(-300)}` }
      const [first = ''] = packages
      const show = await runCommand([join(venv, 'bin/pip'), 'show', first.replace(/\[.*/, '')], { seconds: 60 })
      return { kind: 'ready', version: /Version: (\S+)/.exec(show.output)?.[1] ?? '' }
    },
  }
}

function odbc(): Client {
  const driver = ['x86_64', 'aarch64']
    .map((arch) => `/usr/lib/${arch}-linux-gnu/odbc/psqlodbcw.so`)
    .find((file) => existsSync(file))
  const base = python('odbc', ['pyodbc'])
  return {
    ...base,
    environment: { TOOLS_ODBC_DRIVER: driver ?? '' },
    async prepare() {
      if (driver === undefined)
        return { kind: 'missing', reason: 'psqlODBC is not installed: apt-get install odbc-postgresql' }
      const prepared = await base.prepare()
      if (prepared.kind === 'missing') return prepared
      const { output } = await runCommand(['dpkg-query', '--show', 'odbc-postgresql'], { seconds: 60 })
      return { kind: 'ready', version: `${output.trim().split('\t')[1]} (pyodbc ${prepared.version})` }
    },
  }
}

function pgjdbc(): Client {
  const target = join(CACHE, 'pgjdbc')
  return {
    name: 'pgjdbc',
    command: ['java', '-XX:TieredStopAtLevel=1', '-cp', `${target}/classes:${target}/dependency/*`, 'Tools'],
    async prepare() {
      const found = await system('mvn', ['--version'], 'apt-get install maven default-jdk')
      if (found.kind === 'missing') return found
      const goals = ['compile', 'dependency:copy-dependencies', `-Dtools.target=${target}`]
      const { status, output } = await runCommand(['mvn', '-q', '-B', '-f', here('pgjdbc/pom.xml'), ...goals], {
        seconds: PREPARE_SECONDS,
      })
      if (status !== 0) return { kind: 'missing', reason: `Maven failed: ${output.slice(-300)}` }
      return withVersion(here('pgjdbc/pom.xml'), /<version>(\d+\.\d+\.\d+)<\/version>/)(found)
    },
  }
}

/** The version of the library instead of its toolchain's. */
function withVersion(file: string, pattern: RegExp): (found: Prepared) => Promise<Prepared> {
  return async (found) => {
    if (found.kind === 'missing') return found
    return { kind: 'ready', version: pattern.exec(await readFile(file, 'utf8'))?.[1] ?? '' }
  }
}

async function packageVersion(name: string): Promise<string> {
  const file = fileURLToPath(new URL(`../../node_modules/${name}/package.json`, import.meta.url))
  return JSON.parse(await readFile(file, 'utf8')).version
}
