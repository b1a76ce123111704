/** Reconciles the database with the declarative file and the demonstration data: read, check, plan, apply. */
import { createHmac } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { resolve } from 'node:path'
import type { CsvRow } from 'gatehouse-csv'
import { type Clock, Refusal } from 'gatehouse-protocol'
import { sql } from 'kysely'
import type { AccountsEnv } from '../accounts/accounts.ts'
import { APIS } from '../resources/apis.ts'
import { ATTRIBUTES } from '../resources/attributes.ts'
import { sharedNames, takenNames } from '../resources/controller-names.ts'
import { CONTROLLERS } from '../resources/controllers.ts'
import { type AnyResource, type AnySection, foldedKey, type SecretDigests } from '../resources/define-resource.ts'
import { FEEDS } from '../resources/feeds.ts'
import { listResources } from '../resources/resources.ts'
import { TABLES } from '../resources/tables.ts'
import { type BoundView, VIEWS } from '../resources/views.ts'
import type { Fault } from '../schema/check-schema.ts'
import { hashPassword } from '../store/accounts/password-hash.ts'
import type { StoredNames } from '../store/check-stored.ts'
import { secretDigest } from '../store/clients/clients.ts'
import type { Database } from '../store/database/database.ts'
import { CHANGE_LOCK } from '../store/database/transaction.ts'
import { createStores, type Stores } from '../store/stores.ts'
import { scopeRemovalFaults } from './api-changes.ts'
import { apply } from './apply.ts'
import { attributeChangeFaults } from './attribute-changes.ts'
import { BadDeclaration } from './bad-declaration.ts'
import { checkMeaning } from './check-meaning.ts'
import { BadCsv, readCsvFile } from './csv-file.ts'
import { defer } from './deferral.ts'
import { withDeletedRows } from './deleted-rows.ts'
import type { DeclaredDocument } from './demo-documents.ts'
import { TICKER } from './demo-feed.ts'
import { emergencyUserFaults } from './emergency-users.ts'
import { type Change, type CurrentState, droppedTables, droppedViews, impossibleChanges, plan } from './plan.ts'
import { resolveSecrets } from './secrets.ts'
import { declaredIn, keptItems, secretFaults, stateFor, togetherFaults, wantedItems } from './sections.ts'
import type { Declaration } from './shape.ts'
import { existingTables, existingViews, readState } from './state.ts'
import type { TableChecks, TablesPort } from './tables-port.ts'

export interface Declared {
  readonly source: string
  readonly folder: string
  readonly declaration: Declaration
  /** Generated rows by table name, for tables without a CSV file. */
  readonly rows: ReadonlyMap<string, () => AsyncIterable<CsvRow>>
  /** Saved queries and boards, each created if it is absent. */
  readonly documents?: readonly DeclaredDocument[]
  /** Whether the feed of the demonstration market is declared: nothing else has its name. */
  readonly hasTicker?: boolean
}

export interface ReconcileEnv extends Pick<AccountsEnv, 'audit' | 'mail'> {
  readonly database: Database
  readonly clock: Clock
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The kinds of the file; all unless a test has more. */
  readonly resources?: readonly AnyResource[]
  /** Undefined on a node without the query service, which then leaves tables to another node. */
  readonly tables: TablesPort | undefined
  /** The HMAC key for digests of declared passwords, so that they cannot be guessed from the database alone. */
  readonly digestKey: Buffer
  /** Seals the secrets of providers. */
  readonly providerKey: Buffer
  /** The names of the controllers that the server has loaded, as far as they are known. */
  readonly loadedControllers?: readonly string[]
  /** Whether clients can be registered for the right to provision users. */
  readonly provisioning?: boolean
  /** Whether passwords serve users for emergencies only, one of whom must be left. */
  readonly localSignIn?: 'all' | 'break_glass'
  /**
   * Called if sections of the file are left out because nodes of an earlier version run. Without it such a file is refused.
   */
  readonly onDeferred?: (sections: readonly string[], olderNodes: readonly string[]) => void
}

/** The declarations that the settings name; undefined if none. The file reader and the demonstration data are loaded on demand. */
export async function findDeclared(
  config: {
    readonly config: string
    readonly demo: boolean
    readonly demoMarket?: boolean
    readonly databaseUrl?: string
  },
  loadedControllers: readonly string[] = [],
): Promise<Declared | undefined> {
  const file = config.config === '' ? undefined : (await import('./read.ts')).readDeclaration(config.config)
  const demo = config.demo ? await import('./demo.ts') : undefined
  if (demo === undefined) return file && { ...file, rows: new Map() }
  const { DEMO_DOCUMENTS: documents } = await import('./demo-documents.ts')
  const taken = [
    ...loadedControllers,
    ...listNames(file?.declaration.controllers),
    ...listNames(file?.declaration.feeds),
  ]
  const feeds = config.demoMarket === true && !taken.includes(TICKER.name) ? [TICKER] : []
  // A table of the file does not get the demonstration rows, even if it has the same name.
  const own = new Set(file?.declaration.tables?.map(({ name }) => name.toLowerCase()))
  const rows = new Map([...demo.DEMO_ROWS].filter(([name]) => !own.has(name)))
  const isWhole = rows.size === demo.DEMO_ROWS.size
  const licences = isWhole && feeds.length > 0 ? (await import('./demo-licences.ts')).DEMO_LICENCES : {}
  // Column segments need the embedded engine.
  const content = config.databaseUrl ? demo.DEMO : demo.COLUMNAR_DEMO
  const market = { ...merge(content, licences), ...(feeds.length > 0 && { feeds }) }
  if (file === undefined)
    return {
      source: 'demo',
      folder: '.',
      declaration: market,
      rows,
      documents,
      hasTicker: feeds.length > 0,
    }
  // The views and the documents are about the tables of the demonstration.
  const { views, ...others } = market
  return {
    ...file,
    declaration: merge(isWhole ? market : others, file.declaration),
    rows,
    hasTicker: feeds.length > 0,
    ...(isWhole && { documents }),
  }
}

/** Throws BadDeclaration for the faults that can be found before the server is open. Changes nothing. */
export async function checkDeclared(
  declared: Declared,
  environment: ReconcileEnv['environment'],
  { roles, attributes, apis }: StoredNames,
  tables: TableChecks | undefined,
  loadedControllers: readonly string[] = [],
  provisioning = false,
): Promise<void> {
  const { source, declaration, folder } = declared
  const known = new Map(attributes.map((attribute) => [attribute.name, attribute]))
  refuse(source, [
    ...resolveSecrets(declaration, { environment, folder }).faults,
    ...checkMeaning(declaration, roles, takenNames(loadedControllers), attributes, { apis, provisioning }),
    ...tableFaults(declaration, folder, known, tables),
  ])
  if (tables === undefined) return
  const existing = await existingTables(tables)
  await checkCatalogue(declared, tables, { attributes: known, tables: existing, views: await existingViews(tables) })
}

/** Returns the views as they will be stored, each after those that it uses. */
async function checkCatalogue(
  declared: Declared,
  tables: TableChecks,
  existing: Pick<CurrentState, 'attributes' | 'tables' | 'views'>,
): Promise<readonly BoundView[]> {
  const { source, declaration } = declared
  refuse(source, impossibleChanges(declaration, existing.tables))
  refuse(source, await rowFaults(declared, tables, existing.tables))
  const { views, faults } = tables.checkViews({
    tables: (declaration.tables ?? []).map((table) => ({
      table: TABLES.toItem(table),
      exists: existing.tables.has(table.name.toLowerCase()),
    })),
    views: (declaration.views ?? []).map(VIEWS.toItem),
    droppedTables: droppedTables(declaration, existing.tables).map(({ name }) => name),
    droppedViews: droppedViews(declaration, existing.views).map(({ name }) => name),
    attributes: wantedItems(ATTRIBUTES, declaration, existing.attributes.values()).values(),
  })
  refuse(source, faults)
  return views
}

/** Returns the changes, which are applied unless `dryRun`. If there is any fault, nothing is changed. */
export function reconcile(declared: Declared, env: ReconcileEnv, dryRun = false): Promise<readonly Change[]> {
  return withLock(env.database, () => reconcileLocked(declared, env, dryRun))
}

async function reconcileLocked(whole: Declared, env: ReconcileEnv, dryRun: boolean): Promise<readonly Change[]> {
  const { resources = listResources() } = env
  const stores = createStores(env.database, env.clock)
  const declared = await deferIfNeeded(whole, stores, env)
  const { source, declaration, folder } = declared
  const state = await readState(declaration, stores, env.tables, resources)
  const { resolved, faults } = resolveSecrets(declaration, { environment: env.environment, folder }, resources)
  refuse(source, [
    ...faults,
    ...checkMeaning(
      declaration,
      state.roles.keys(),
      takenNames(env.loadedControllers),
      keptItems(ATTRIBUTES, declaration, state.attributes.values()),
      {
        apis: [...state.apis.values()],
        provisioning: env.provisioning ?? false,
        resources,
        signingKeys: await stores.signingKeys.list(),
        products: state.products.values(),
        agreements: state.agreements.values(),
        feeds: state.feeds.values(),
        tables: { tables: [...state.tables.values()], views: [...state.views.values()] },
      },
    ),
    ...(await scopeRemovalFaults(declaration, state, stores, resources)),
    ...resources.flatMap((resource) => [
      // Those of APIs are known before the server is open: see checkMeaning.
      ...(resource === APIS ? [] : togetherFaults(resource, declaration, stateFor(resource, state))),
      ...secretFaults(resource, declaration, stateFor(resource, state)),
    ]),
    ...attributeChangeFaults(declaration, state),
    ...sharedNames('feeds', declaration.feeds, keptItems(CONTROLLERS, declaration, state.controllers.keys())),
    ...sharedNames('controllers', declaration.controllers, keptItems(FEEDS, declaration, state.feeds.keys())),
    ...tableFaults(declaration, folder, state.attributes, env.tables),
  ])
  const { tables, ...withoutTables } = resolved
  const changes =
    env.tables === undefined
      ? plan(withoutTables, state, secretDigests(env), [], resources)
      : plan(resolved, state, secretDigests(env), await checkCatalogue(declared, env.tables, state), resources)
  if (dryRun) return env.tables === undefined ? changes : withDeletedRows(changes, env.tables)
  await apply(source, changes, {
    ...env,
    resources,
    hashPassword,
    initialRows: (table) => initialRows(table, declared),
    tablePath: (table) => tablePath(table, declaration),
    ...(env.localSignIn === 'break_glass' && {
      emergencyUserFaults: () => emergencyUserFaults(changes, declaration, state),
    }),
  })
  return changes
}

async function deferIfNeeded(
  declared: Declared,
  { nodes }: Stores,
  { onDeferred, resources }: ReconcileEnv,
): Promise<Declared> {
  const deferred = defer(declared.declaration, resources)
  const older = deferred === undefined ? [] : await nodes.older()
  if (deferred === undefined || older.length === 0) return declared
  const text = `nodes of an earlier version do not know this yet: first upgrade ${older.join(', ')}`
  if (onDeferred === undefined)
    throw new BadDeclaration(
      declared.source,
      deferred.sections.map((path) => ({ path, text })),
    )
  onDeferred(deferred.sections, older)
  return { ...declared, declaration: deferred.declaration }
}

/** Of nodes that start at the same time, the second waits and finds nothing left to do. */
async function withLock<T>({ db, engine }: Database, work: () => Promise<T>): Promise<T> {
  if (engine === 'sqlite') return work()
  return db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${sql.lit(CHANGE_LOCK)})`.execute(connection)
    try {
      return await work()
    } finally {
      await sql`select pg_advisory_unlock(${sql.lit(CHANGE_LOCK)})`.execute(connection)
    }
  })
}

/** Counts per action, for the log and the audit log. */
export function summarise(changes: readonly Change[]): { created: number; changed: number; deleted: number } {
  const count = (action: Change['action']) => changes.filter((change) => change.action === action).length
  return { created: count('create'), changed: count('update'), deleted: count('remove') }
}

function listNames(declared: readonly { readonly name: string }[] = []): readonly string[] {
  return declared.map(({ name }) => name)
}

/** The file takes precedence over demonstration data of the same name. */
function merge(demo: Declaration, file: Declaration): Declaration {
  const lists = [...listResources(), TABLES, VIEWS].map((resource: AnySection) => {
    const own = declaredIn(file, resource)
    const taken = new Set(own?.map((each) => foldedKey(resource, each)))
    const others = declaredIn(demo, resource)?.filter((each) => !taken.has(foldedKey(resource, each)))
    return [resource.section, others === undefined ? own : [...(own ?? []), ...others]] as const
  })
  return { ...file, ...Object.fromEntries(lists.filter(([, list]) => list !== undefined)) }
}

function refuse(source: string, faults: readonly Fault[]): void {
  if (faults.length > 0) throw new BadDeclaration(source, faults)
}

function tableFaults(
  declaration: Declaration,
  folder: string,
  existing: CurrentState['attributes'],
  port: TableChecks | undefined,
): Fault[] {
  const attributes = [...wantedItems(ATTRIBUTES, declaration, existing.values()).values()]
  return (declaration.tables ?? []).flatMap((table, index) => [
    ...(table.csv === undefined ? [] : fileFaults(resolve(folder, table.csv), `tables[${index}].csv`)),
    ...(port?.check(TABLES.toItem(table), attributes) ?? []).map(({ path, text }) => ({
      path: `tables[${index}].${path}`,
      text,
    })),
  ])
}

/** The rows of each table that will be created from a file are read twice: the first time to find errors before anything is written. */
async function rowFaults(
  declared: Declared,
  tables: TableChecks,
  existing: ReadonlyMap<string, unknown>,
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const [index, table] of (declared.declaration.tables ?? []).entries()) {
    if (table.csv === undefined || existing.has(table.name.toLowerCase())) continue
    try {
      await tables.checkRows(TABLES.toItem(table), readCsvFile(resolve(declared.folder, table.csv)))
    } catch (error) {
      if (!(error instanceof BadCsv || error instanceof Refusal)) throw error
      faults.push({ path: `tables[${index}].csv`, text: error.message })
    }
  }
  return faults
}

function fileFaults(file: string, path: string): Fault[] {
  try {
    accessSync(file, constants.R_OK)
    return []
  } catch {
    return [{ path, text: `the file ${file} cannot be read` }]
  }
}

function tablePath(name: string, { tables = [] }: Declaration): string {
  const index = tables.findIndex((candidate) => candidate.name === name)
  return `tables[${index}]${tables[index]?.csv === undefined ? '' : '.csv'}`
}

function initialRows(name: string, { declaration, folder, rows }: Declared): AsyncIterable<CsvRow> | undefined {
  const table = declaration.tables?.find((candidate) => candidate.name === name)
  return table?.csv === undefined ? rows.get(name)?.() : readCsvFile(resolve(folder, table.csv))
}

function secretDigests({ digestKey }: ReconcileEnv): SecretDigests {
  return {
    passwordDigest: (username, value) =>
      createHmac('sha256', digestKey).update(`${username}\0${value}`).digest('base64url'),
    secretDigest,
  }
}
