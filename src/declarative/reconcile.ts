/** Brings the database to what the declarative file and the demonstration data say: read, check, plan, apply. */
import { createHmac } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { resolve } from 'node:path'
import type { Clock } from '../protocol/clock.ts'
import { secretDigest } from '../store/clients.ts'
import type { Database } from '../store/database.ts'
import { sql } from '../store/kysely.ts'
import { hashPassword } from '../store/password-hash.ts'
import { createStores } from '../store/stores.ts'
import { usernameKey } from '../store/users.ts'
import { apply } from './apply.ts'
import { BadDeclaration, type Fault } from './bad-declaration.ts'
import { checkMeaning } from './check-meaning.ts'
import { type CsvRow, readCsvFile } from './csv.ts'
import { type Change, type PlanRules, plan } from './plan.ts'
import { resolveSecrets } from './secrets.ts'
import type { Declaration } from './shape.ts'
import { readState } from './state.ts'
import type { TablesPort } from './tables-port.ts'
import { tableTarget } from './targets.ts'

export interface Declared {
  readonly source: string
  readonly folder: string
  readonly declaration: Declaration
  /** Rows that no CSV file holds, by the name of the table. */
  readonly rows: ReadonlyMap<string, () => AsyncIterable<CsvRow>>
}

export interface ReconcileEnv {
  readonly database: Database
  readonly clock: Clock
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Undefined on a node that does not run the query service: its tables are another node's matter. */
  readonly tables: TablesPort | undefined
  /** Keys the digests of declared passwords, so that the database alone gives nothing to guess against. */
  readonly digestKey: Buffer
}

const ADVISORY_LOCK = 7_203_519_002

/** What the settings ask for; undefined when they ask for nothing. Each part is loaded only where it is used. */
export async function findDeclared(config: {
  readonly config: string
  readonly demo: boolean
}): Promise<Declared | undefined> {
  const file = config.config === '' ? undefined : (await import('./read.ts')).readDeclaration(config.config)
  const demo = config.demo ? await import('./demo.ts') : undefined
  if (demo === undefined) return file && { ...file, rows: new Map() }
  if (file === undefined) return { source: 'demo', folder: '.', declaration: demo.DEMO, rows: demo.DEMO_ROWS }
  const declaration = merge(demo.DEMO, file.declaration)
  // A table of the file is not the demonstration's, though it may have the name.
  const own = new Set(file.declaration.tables?.map(({ name }) => name.toLowerCase()))
  return { ...file, declaration, rows: new Map([...demo.DEMO_ROWS].filter(([name]) => !own.has(name))) }
}

/** Returns the changes, made unless `dryRun`. Nothing is changed when anything is wrong. */
export function reconcile(declared: Declared, env: ReconcileEnv, dryRun = false): Promise<readonly Change[]> {
  return alone(env.database, () => reconcileAlone(declared, env, dryRun))
}

async function reconcileAlone(declared: Declared, env: ReconcileEnv, dryRun: boolean): Promise<readonly Change[]> {
  const { source, declaration, folder } = declared
  const stores = createStores(env.database, env.clock)
  const state = await readState(declaration, stores, env.tables)
  const { resolved, faults } = resolveSecrets(declaration, { environment: env.environment, folder })
  refuse(source, [
    ...faults,
    ...checkMeaning(declaration, state.roles.keys()),
    ...tableFaults(declaration, folder, env.tables),
  ])
  const { tables, ...withoutTables } = resolved
  const { changes, faults: impossible } = plan(env.tables === undefined ? withoutTables : resolved, state, rulesOf(env))
  refuse(source, impossible)
  if (!dryRun)
    await apply(source, changes, {
      ...env,
      hashPassword,
      rowsOf: (table) => rowsOf(table, declared),
      pathOf: (table) => `tables[${declaration.tables?.findIndex(({ name }) => name === table)}].csv`,
    })
  return changes
}

/** Nodes that start together must not reconcile together: the second finds nothing left to do. */
async function alone<T>({ db, engine }: Database, work: () => Promise<T>): Promise<T> {
  if (engine === 'sqlite') return work()
  return db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${sql.lit(ADVISORY_LOCK)})`.execute(connection)
    try {
      return await work()
    } finally {
      await sql`select pg_advisory_unlock(${sql.lit(ADVISORY_LOCK)})`.execute(connection)
    }
  })
}

/** How many of each kind, for the log and the audit. */
export function summarise(changes: readonly Change[]): { created: number; changed: number; deleted: number } {
  const count = (action: Change['action']) => changes.filter((change) => change.action === action).length
  return { created: count('create'), changed: count('update'), deleted: count('remove') }
}

/** What the file names wins over the demonstration data of the same name. */
function merge(demo: Declaration, file: Declaration): Declaration {
  return {
    ...file,
    roles: [...(file.roles ?? []), ...without(demo.roles, file.roles, ({ name }) => name)],
    users: [...(file.users ?? []), ...without(demo.users, file.users, ({ username }) => usernameKey(username))],
    clients: [...(file.clients ?? []), ...without(demo.clients, file.clients, ({ client_id }) => client_id)],
    tables: [...(file.tables ?? []), ...without(demo.tables, file.tables, ({ name }) => name.toLowerCase())],
  }
}

function without<Item>(
  items: readonly Item[] = [],
  taken: readonly Item[] = [],
  keyOf: (item: Item) => string,
): Item[] {
  const keys = new Set(taken.map(keyOf))
  return items.filter((item) => !keys.has(keyOf(item)))
}

function refuse(source: string, faults: readonly Fault[]): void {
  if (faults.length > 0) throw new BadDeclaration(source, faults)
}

function tableFaults({ tables = [] }: Declaration, folder: string, port: TablesPort | undefined): Fault[] {
  return tables.flatMap((table, index) => [
    ...(table.csv === undefined ? [] : fileFaults(resolve(folder, table.csv), `tables[${index}].csv`)),
    ...(port?.check(tableTarget(table)) ?? []).map(({ path, text }) => ({ path: `tables[${index}].${path}`, text })),
  ])
}

function fileFaults(file: string, path: string): Fault[] {
  try {
    accessSync(file, constants.R_OK)
    return []
  } catch {
    return [{ path, text: `the file ${file} cannot be read` }]
  }
}

function rowsOf(name: string, { declaration, folder, rows }: Declared): AsyncIterable<CsvRow> | undefined {
  const table = declaration.tables?.find((candidate) => candidate.name === name)
  return table?.csv === undefined ? rows.get(name)?.() : readCsvFile(resolve(folder, table.csv))
}

function rulesOf({ digestKey }: ReconcileEnv): PlanRules {
  return {
    foldUsername: usernameKey,
    passwordDigest: (username, value) =>
      createHmac('sha256', digestKey).update(`${username}\0${value}`).digest('base64url'),
    secretDigest,
  }
}
