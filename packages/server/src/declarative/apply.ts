/** Applies a plan: tables and views first, since only they are expected to fail, then all identity data in one transaction; drops tables last. */

import type { CsvRow } from 'gatehouse-csv'
import { type Clock, Refusal } from 'gatehouse-protocol'
import { type AccountsEnv, changeAccounts } from '../accounts/accounts.ts'
import { putItem, removeItem, settle } from '../resources/change-item.ts'
import type { AnyResource, ChangeInside } from '../resources/define-resource.ts'
import type { TableTarget } from '../resources/tables.ts'
import type { Fault } from '../schema/check-schema.ts'
import { transactWithEvents } from '../store/cluster/event-transaction.ts'
import type { Database } from '../store/database/database.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import type { Stores } from '../store/stores.ts'
import { BadDeclaration } from './bad-declaration.ts'
import { BadCsv } from './csv-file.ts'
import type { Change } from './plan.ts'
import type { ResourceChange } from './sections.ts'
import { BEING_FILLED, type TablesPort } from './tables-port.ts'

export interface ApplyEnv extends Pick<AccountsEnv, 'audit' | 'mail'> {
  readonly resources: readonly AnyResource[]
  readonly database: Database
  readonly clock: Clock
  readonly tables: TablesPort | undefined
  /** Seals the secrets of providers. */
  readonly providerKey: Buffer
  /** Argon2id, as a PHC string. */
  hashPassword(password: string): Promise<string>
  /** The initial rows of a table. */
  initialRows(table: string): AsyncIterable<CsvRow> | undefined
  /** The path of the table in the file, or of its rows if the file names them. */
  tablePath(table: string): string
  /** What is wrong if nobody is left who can sign in when all providers fail; undefined where all passwords serve. */
  readonly emergencyUserFaults?: (() => readonly Fault[]) | undefined
}

export async function apply(source: string, planned: readonly Change[], env: ApplyEnv): Promise<void> {
  const changes = await sealSecrets(planned, env)
  const undoAttributes = await createAttributes(changes, env)
  const undo = await applyTables(source, changes, env, undoAttributes)
  try {
    // Running nodes receive the events from the database.
    const accountsEnv = { ...env, receive: () => {}, localSignIn: () => 'all' as const }
    await changeAccounts(
      accountsEnv,
      { source: 'file' },
      async (accounts, stores, { publish, revocations }) => {
        const { emergencyUserFaults } = env
        const faults = emergencyUserFaults && (await stores.users.hasBreakGlass()) ? emergencyUserFaults : undefined
        await applyIdentity(changes, env, {
          ...{ accounts, stores, publish, revocations },
          providerKey: env.providerKey,
        })
        if (faults !== undefined && !(await stores.users.hasBreakGlass())) throw new BadDeclaration(source, faults())
      },
      // By the connection that reconciles.
      { isLocked: true },
    )
  } catch (error) {
    await undo()
    throw error
  }
  await dropTables(source, changes, env)
}

/** Hashing is slow on purpose, so it happens before the transaction, which blocks other writers; one after the other, for its memory. */
async function sealSecrets(
  changes: readonly Change[],
  { resources, hashPassword }: Pick<ApplyEnv, 'resources' | 'hashPassword'>,
): Promise<readonly Change[]> {
  const sealed: Change[] = []
  for (const change of changes) {
    const { secret: member } = resources.find(({ noun }) => noun === change.what) ?? {}
    if ('secret' in change && change.secret !== undefined && member?.seal !== undefined)
      sealed.push({ ...change, secret: await member.seal(change.secret, hashPassword) })
    else sealed.push(change)
  }
  return sealed
}

/** Row filters of the tables may use new attributes, so these come first. Returns a function that undoes it. */
async function createAttributes(changes: readonly Change[], env: ApplyEnv): Promise<() => Promise<void>> {
  const { tables } = env
  const creations = changes.flatMap((change) =>
    change.what === 'attribute' && change.action === 'create' ? [change] : [],
  )
  if (tables === undefined || creations.length === 0 || !changes.some(({ what }) => what === 'table'))
    return async () => {}
  const inTransaction = (work: (stores: Stores) => Promise<void>) =>
    transactWithEvents({ ...env, receive: () => {} }, async (stores, publish) => {
      await work(stores)
      await publish({ kind: 'attributes-changed' })
    })
  await inTransaction(async ({ attributes }) => {
    const store: DefinitionStore<object> = attributes
    for (const { target } of creations) await store.put(target)
  })
  await tables.refresh()
  return () =>
    inTransaction(async ({ attributes }) => {
      for (const { name } of creations) await attributes.remove(name)
    })
}

/**
 * Returns a function that undoes these steps: it drops what was created and restores the views, in case a later step fails. If a step
 * here fails, it has already been called.
 */
async function applyTables(
  source: string,
  changes: readonly Change[],
  env: ApplyEnv,
  undoBefore: () => Promise<void>,
): Promise<() => Promise<void>> {
  const { tables } = env
  if (tables === undefined) return undoBefore
  const undoing: (() => Promise<void>)[] = [undoBefore]
  const undo = async () => {
    for (const step of undoing.toReversed()) await step()
  }
  const attempt = async (path: string, step: () => Promise<unknown>) => {
    try {
      await step()
    } catch (error) {
      await undo()
      if (!(error instanceof BadCsv || error instanceof Refusal)) throw error
      throw new BadDeclaration(source, [{ path, text: error.message }])
    }
  }
  for (const change of changes) {
    if (change.what !== 'table' || change.action === 'remove') continue
    const { name, target } = change
    await attempt(env.tablePath(name), () =>
      change.action === 'update' ? tables.change(target) : createTable(target, env.initialRows(name), tables),
    )
    if (change.action === 'create') undoing.push(() => tables.drop(name))
  }
  const views = changes.filter((change) => change.what === 'view')
  if (views.length > 0) {
    const wanted = views.flatMap((change) => (change.action === 'remove' ? [] : [change.target]))
    const former = views.flatMap(({ before }) => (before === undefined ? [] : [before]))
    const created = views.filter(({ action }) => action === 'create').map(({ name }) => name)
    const removed = views.filter((change) => change.action === 'remove' && !hasRows(change)).map(({ name }) => name)
    await attempt('views', () => tables.changeViews(wanted, removed))
    undoing.push(() => tables.changeViews(former, created))
  }
  return undo
}

/** A materialized view can have rows that its table has no more. */
function hasRows({ before }: Extract<Change, { what: 'view' }>): boolean {
  return before?.materialized === true
}

/** Their rows cannot be restored, so nothing else may fail after this. Materialized views go before the tables that they read. */
async function dropTables(source: string, changes: readonly Change[], { tables }: ApplyEnv): Promise<void> {
  const removals = changes.filter(({ action }) => action === 'remove')
  const views = removals.flatMap((change) => (change.what === 'view' && hasRows(change) ? change.name : []))
  try {
    if (views.length > 0) await tables?.changeViews([], views)
    for (const { what, name } of removals) if (what === 'table') await tables?.drop(name)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new BadDeclaration(source, [{ path: 'prune', text: error.message }])
  }
}

async function createTable(
  table: TableTarget,
  rows: AsyncIterable<CsvRow> | undefined,
  tables: TablesPort,
): Promise<void> {
  const existing = (await tables.list()).find(({ name }) => name.toLowerCase() === table.name.toLowerCase())
  // Left by a process that died while filling the table.
  if (existing?.description === BEING_FILLED) await tables.drop(existing.name)
  if (rows === undefined) return tables.create(table, undefined)
  await tables.create({ ...table, description: BEING_FILLED }, rows)
  await tables.change(table)
}

/** Revocations are in the same transaction, so that a crash cannot leave a disabled user with valid tokens. */
async function applyIdentity(
  changes: readonly Change[],
  { resources }: Pick<ApplyEnv, 'resources'>,
  inside: ChangeInside,
): Promise<void> {
  for (const change of changes) {
    if (change.what !== 'table' && change.what !== 'view') await applyResource(change, resources, inside)
  }
  for (const resource of resources) {
    const made = changes.filter(({ what }) => what === resource.noun)
    const kind = made.every(({ action }) => action === 'create') ? 'created' : 'changed'
    if (made.length > 0) await settle(resource, kind, inside)
  }
}

/** Nothing where it has been removed since the plan was made. */
async function applyResource(
  change: ResourceChange,
  resources: readonly AnyResource[],
  inside: ChangeInside,
): Promise<void> {
  const resource = resources.find(({ noun }) => noun === change.what)
  if (resource === undefined) throw new Error(`There is no resource ${change.what}`)
  const before = await resource.store(inside.stores).find(change.name)
  if (change.action === 'create' || (change.action === 'update' && before !== undefined))
    await putItem(resource, change.target, {
      ...{ ...inside, before, secret: change.secret },
      ...{ isDeclared: true, isNew: change.action === 'create' },
    })
  else if (change.action === 'remove' && before !== undefined) await removeItem(resource, change.name, before, inside)
}
