/** The licences of a call: its statements are planned with what the caller has of covered tables, and run while it has that. */
import type { Bound, BoundStatement, IqlValue, TableView } from 'gatehouse-iql'
import type { Refusal, TableNeed } from 'gatehouse-protocol'
import { abortable } from '../../lib/abortable.ts'
import {
  type AccessPart,
  type Copies,
  findAccess,
  type HeldTables,
  isDelayed,
  isRealtime,
  joinNeeds,
  type LicensedCaller,
  licenceRefusal,
  type TableAccess,
  type TableLicences,
  type TableRights,
} from '../catalogue/licences.ts'
import type { PreparedRead, Stoppable } from '../engines/engine.ts'
import type { ReadOutcome } from '../model/result.ts'
import { findNeeds } from '../plan/licensed-parts.ts'
import { PlanPending, whenPlanned } from '../plan/long-plans.ts'
import type { PlanRights } from '../plan/plan-caches.ts'
import type { Planned } from '../plan/planner.ts'

export interface LicensedEnv {
  readonly licences: TableLicences
  readonly copies: Copies
  /** How tables are used here. */
  readonly way: LicensedCaller['way']
}

/** The rights of a caller, to plan with. */
export class CallerRights implements PlanRights {
  readonly caller: LicensedCaller
  readonly scopes: ReadonlySet<string>
  readonly #licences: TableLicences
  #held: HeldTables | undefined
  #isRenounced = false

  constructor(caller: LicensedCaller, licences: TableLicences) {
    this.caller = caller
    this.scopes = caller.principal.scopes
    this.#licences = licences
  }

  get tables(): TableRights | undefined {
    return this.#isRenounced ? undefined : this
  }

  /** Throws a PlanPending while it is not known. */
  find(table: string): TableAccess | undefined {
    const access = this.#held?.find(table) ?? this.#licences.find(this.caller, table)
    if (access instanceof Promise) throw new PlanPending(access)
    return access
  }

  /** From now on what is held counts, where it was not as expected. */
  hold(held: HeldTables): void {
    this.#held = held
  }

  /** From now on it has nothing of covered tables. */
  renounce(): void {
    this.#isRenounced = true
  }
}

/** Takes the places for the tables of statements. Undefined: no product covers any of them. */
export function holdTables(
  caller: LicensedCaller,
  parts: readonly LicensedPart[],
  { licences }: Pick<LicensedEnv, 'licences'>,
): HeldTables | Promise<HeldTables> | undefined {
  const needs = parts.flatMap(({ planned, valueSets: [values = []] }) => {
    const known = findNeeds(planned, values)
    const names = coveredNames(tablesIn(planned.bound), licences)
    return names.map((table): TableNeed => known.find((need) => need.table === table) ?? { table })
  })
  if (needs.length === 0) return undefined
  for (const { bound } of parts.map(({ planned }) => planned))
    if (usesRows(bound.statement)) refuseUnreadyFirst(bound.tables, readTables(bound.statement, bound.tables))
  return licences.hold(caller, joinNeeds(needs))
}

/** Before a place is taken and a use is recorded. A caller without any access to one of the tables is refused for that. */
export function refuseUnreadyFirst(tables: readonly TableView[], read = tables): void {
  const isRefused = tables.some((table) => findAccess(table)?.parts.every(({ access }) => access === 'none'))
  if (!isRefused) refuseUnready(read)
}

/** A statement and its values. */
interface LicensedPart {
  readonly planned: Planned
  readonly valueSets: readonly (readonly IqlValue[])[]
}

/** Whether the plans were made with what is held, and so show what the caller may see. */
export function isPlannedWith(
  plans: readonly Planned[],
  held: HeldTables,
  { licences }: Pick<LicensedEnv, 'licences'>,
): boolean {
  // Nothing is held then, and nothing shown.
  if (held.refusal !== undefined) return true
  return plans.every(({ bound }) => {
    if (!usesRows(bound.statement)) return true
    return bound.tables.every((table) => {
      const name = table.name.toLowerCase()
      return table.isSystem || licences.covers(name) === undefined || findAccess(table) === held.find(name)
    })
  })
}

/** Plans with what the caller has of covered tables, and takes the places for these. */
export async function planLicensed<Plan>(
  caller: LicensedCaller,
  env: LicensedEnv,
  plan: (rights: CallerRights) => Plan,
  listPlans: (plan: Plan) => readonly Planned[],
): Promise<{ readonly plan: Plan; readonly held: HeldTables | undefined }> {
  const rights = new CallerRights(caller, env.licences)
  for (;;) {
    const made = await whenPlanned(() => plan(rights))
    const plans = listPlans(made)
    const parts = plans.map((planned) => ({ planned, valueSets: [] }))
    const held = env.licences.version === 0 ? undefined : await holdTables(caller, parts, env)
    if (held === undefined || isPlannedWith(plans, held, env)) {
      if (held !== undefined) requireLicences(plans, held, env)
      return { plan: made, held }
    }
    rights.hold(held)
  }
}

/** Resolves when this node knows whether what was read may be shown still; throws if not. Undefined: it knows it. */
export function catchUpHeld(
  held: HeldTables | undefined,
  running: Pick<Stoppable, 'signal'> | undefined,
): Promise<void> | undefined {
  const catchingUp = held?.catchUp()
  return held === undefined || catchingUp === undefined ? undefined : requireHeld(held, catchingUp, running?.signal)
}

async function requireHeld(held: HeldTables, ready: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  await (signal === undefined ? ready : abortable(ready, signal))
  signal?.throwIfAborted()
  const reasons: Refusal[] = []
  const unwatch = held.onLowered((reason) => void reasons.push(reason))
  unwatch()
  const [reason] = reasons
  if (reason !== undefined) throw reason
}

type ReadChunks = ReturnType<PreparedRead['readStream']>

const NOTHING_READ: ReadOutcome = { rowCount: 0, truncated: 'no', lastKey: [] }

/** Each part of what is read, while it may be shown. */
export async function* readHeld(chunks: ReadChunks, held: HeldTables, running: Pick<Stoppable, 'signal'>): ReadChunks {
  try {
    for (;;) {
      const next = await chunks.next()
      const catchingUp = catchUpHeld(held, running)
      if (catchingUp !== undefined) await catchingUp
      if (next.done) return next.value
      yield next.value
    }
  } finally {
    // Without effect at its end.
    await chunks.return(NOTHING_READ)
  }
}

/** Refuses what the licences of the caller do not allow, step-up and scopes being met. */
export function requireLicences(plans: readonly Planned[], held: HeldTables, env: Pick<LicensedEnv, 'licences'>): void {
  if (held.refusal !== undefined) throw held.refusal
  for (const planned of plans) requireFor(planned, held, env)
}

function requireFor({ bound }: Planned, held: HeldTables, { licences }: Pick<LicensedEnv, 'licences'>): void {
  const { statement, tables } = bound
  const find = (table: TableView) => (table.isSystem ? undefined : held.find(table.name.toLowerCase()))
  const used = tables.flatMap((table) => find(table) ?? [])
  refuseUnready(readTables(statement, tables))
  switch (statement.kind) {
    case 'insert':
    case 'update':
    case 'delete': {
      const target = find(statement.table)
      if (target !== undefined && !target.parts.some(isRealtime)) throw needsRealtime(target)
      refuseCoveringColumn(statement, target)
      refuseTarget(statement.table.name, used, licences)
      break
    }
    case 'create-table':
      refuseTarget(statement.name, used, licences)
      break
    // A refused definition would tell of rows.
    case 'add-check':
    case 'create-index': {
      const target = find(statement.table)
      const isAll = target?.parts.every((part) => isRealtime(part) || part.products.length === 0) ?? true
      if (target !== undefined && !isAll) throw needsRealtime(target)
      break
    }
    default:
      break
  }
}

/** Without the one that it writes to. */
function readTables(statement: BoundStatement, tables: readonly TableView[]): readonly TableView[] {
  return tables.filter((table) => !('table' in statement) || table !== statement.table)
}

/** Refuses tables of which the caller has former rows only, where these are not known yet. */
export function refuseUnready(read: readonly TableView[]): void {
  for (const table of read) {
    const { parts = [] } = findAccess(table) ?? {}
    const isMissing = table.storedAs === undefined && !parts.some(isRealtime)
    if (isMissing) refuseDelayed(table, parts.filter(isDelayed))
  }
}

/** For those who would take them for gone: refuses tables of which it is not known yet whether former rows can be read. */
export function refuseUnknown(read: readonly TableView[], copies: Pick<Copies, 'isKnown'>): void {
  for (const table of read) {
    const { parts = [] } = findAccess(table) ?? {}
    refuseDelayed(
      table,
      parts.filter((part) => isDelayed(part) && !copies.isKnown(table, part.delay)),
    )
  }
}

function refuseDelayed({ name }: TableView, parts: readonly AccessPart[]): void {
  const products = new Set(parts.flatMap(({ product }) => product ?? []))
  if (products.size === 0) return
  throw licenceRefusal('Licence.NotReady', `The former rows of ${name} are not known yet`, {
    Products: [...products].sort(),
  })
}

/** Rows of a product are only copied to where it is needed too. */
function refuseTarget(name: string, read: readonly TableAccess[], licences: TableLicences): void {
  const products = new Set(
    read.flatMap(({ parts }) => parts.flatMap((part) => (part.isFree ? [] : (part.product ?? [])))),
  )
  const missing = [...products.difference(licences.covers(name.toLowerCase())?.products ?? new Set())].sort()
  if (missing.length === 0) return
  const text = `Rows of ${missing.join(', ')} cannot be written to ${name}, which it does not cover`
  throw licenceRefusal('Licence.Target', text, { Products: missing })
}

/** Rows do not go from one product to another. */
function refuseCoveringColumn(statement: BoundStatement, target: TableAccess | undefined): void {
  const column = target?.column?.toLowerCase()
  if (column === undefined || statement.kind === 'delete') return
  const set =
    statement.kind === 'update'
      ? statement.set
      : statement.kind === 'insert' && statement.onConflict?.kind === 'update'
        ? statement.onConflict.set
        : []
  const found = set.find((assignment) => assignment.column.name.toLowerCase() === column)
  if (found !== undefined)
    throw licenceRefusal('Licence.Column', `${found.column.name} says which product covers a row: it is not updated`)
}

function needsRealtime({ parts }: TableAccess): Refusal {
  const products = [...new Set(parts.flatMap((part: AccessPart) => part.products))].sort()
  const { missing: reason } = parts.find(({ missing }) => missing !== 'none' && missing !== 'uncovered') ?? NOT_ENTITLED
  const text = `Real-time access to ${products.join(', ')} is needed to write to the table: ${reason}`
  return licenceRefusal('Licence.Needed', text, { Products: products, Reason: reason })
}

const NOT_ENTITLED = { missing: 'none' }

/** Those whose rows it reads or writes, or says something of. */
function tablesIn({ statement, tables }: Bound): readonly TableView[] {
  if (!usesRows(statement)) return []
  return statement.kind === 'add-check' || statement.kind === 'create-index' ? [statement.table] : tables
}

/** Names in lower case. */
function coveredNames(tables: readonly TableView[], licences: TableLicences): readonly string[] {
  return tables.flatMap(({ isSystem, name }) => {
    const key = name.toLowerCase()
    return !isSystem && licences.covers(key) !== undefined ? [key] : []
  })
}

function usesRows(statement: BoundStatement): boolean {
  switch (statement.kind) {
    case 'query':
    case 'insert':
    case 'update':
    case 'delete':
    case 'add-check':
      return true
    case 'explain':
      return statement.analyzed !== undefined
    case 'create-table':
      return statement.query !== undefined && !statement.exists
    case 'create-index':
      return statement.unique && !statement.exists
    default:
      return false
  }
}
