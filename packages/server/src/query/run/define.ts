/** Runs CREATE, ALTER and DROP, and records every change of the catalogue in the audit log. */

import { type AddCheck, type AddColumn, type BoundStatement, type CreateTable, refuse } from 'gatehouse-iql'
import type { Audit, AuditEvent } from 'gatehouse-protocol'
import { planChange } from '../catalogue/change.ts'
import type { CatalogueChange, TableDefinition } from '../catalogue/definition.ts'
import type { Bindable } from '../engines/emit/parameters.ts'
import { bindParameters } from '../engines/emit/parameters.ts'
import { checkError } from '../engines/runtime-error.ts'
import { isSimple } from '../plan/cost.ts'
import { callOwner, type ExecutionEnv, type RunningCall, runValues } from './call.ts'
import { readRows } from './read-rows.ts'

export async function define(statement: BoundStatement, run: RunningCall, env: ExecutionEnv): Promise<void> {
  if (statement.kind === 'create-table' && statement.query !== undefined) requireRights(statement, run)
  const change = planChange(statement, run.planned.snapshot, BigInt(env.clock()) * 1000n, run.planned.text)
  if (change === undefined) return
  const value = statement.kind === 'add-column' ? await fillValue(statement, run, env) : null
  const isCheck = statement.kind === 'add-check'
  if (isCheck) await refuseViolations(statement, run, env)
  const kept = await env.kept.plansFor(change)
  const options = { owner: callOwner(run.principal), running: run.running, kept }
  await env.catalogue.change([{ change, fill: value }], options)
  await evaluateAnew(change, env)
  // Rows that were written while the existing ones were read.
  if (isCheck) await refuseLateViolations(statement, run, env)
  recordChanges(env.audit, run, [change])
}

/** After a change: a materialized view with another retention has other groups. */
export async function evaluateAnew(
  change: CatalogueChange,
  { kept }: { readonly kept: Pick<ExecutionEnv['kept'], 'askAnew'> },
): Promise<void> {
  if (change.kind !== 'drop' && change.table.kept !== undefined && isRetentionChanged(change))
    await kept.askAnew(change.table.name)
}

/** Copied rows must not become readable for everyone by an oversight. */
function requireRights({ exists, readScope, rowFilter, readNeed, name }: CreateTable, { planned }: RunningCall): void {
  if (exists || readScope !== undefined || rowFilter !== undefined || readNeed !== undefined) return
  const source = planned.bound.tables.find((table) => {
    const { snapshot } = planned
    return snapshot.readScopes(table.name).size > 0 || Boolean(table.rowFilter ?? snapshot.readNeed(table.name))
  })
  if (source === undefined) return
  const text = `Not everyone may read ${source.name}: say who may read its rows in ${name}`
  const hint = "write READ SCOPE '…', ROW FILTER (…) or REQUIRE (…) before AS"
  throw refuse('BadDefinition', text, { statement: planned.text, at: 0, hint })
}

/** The check stays only if the rows could be read to the end, and meet it. */
async function refuseLateViolations(statement: AddCheck, run: RunningCall, env: ExecutionEnv): Promise<void> {
  try {
    await refuseViolations(statement, run, env)
  } catch (error) {
    await removeCheck(statement, env)
    throw error
  }
}

async function refuseViolations({ violation, check }: AddCheck, run: RunningCall, env: ExecutionEnv): Promise<void> {
  const emitted = env.planner.emitter.emitQuery(violation)
  const rows = await readRows(env.engine, {
    sql: emitted.sql,
    parameters: bindParameters(emitted, runValues(run, [], env), env.engine.bind),
    columns: violation.columns,
    cost: 'unbounded',
    owner: callOwner(run.principal),
    running: run.running,
  })
  if (rows.length > 0) throw checkError(check.name, check.condition)
}

async function removeCheck({ table, check }: AddCheck, env: ExecutionEnv): Promise<void> {
  const change = planChange({ kind: 'drop-check', table, name: check.name }, env.catalogue.snapshot, 0n)
  if (change !== undefined) await env.catalogue.change([{ change, fill: null }])
}

/** The default of a new column, evaluated once for all existing rows. */
async function fillValue({ column }: AddColumn, run: RunningCall, env: ExecutionEnv): Promise<Bindable> {
  if (column.default === undefined) return null
  const { expression } = column.default
  const emitted = env.planner.emitter.emitValue(expression)
  const rows = await readRows(env.engine, {
    sql: emitted.sql,
    parameters: bindParameters(emitted, runValues(run, [], env), env.engine.bind),
    columns: [{ name: column.name, type: column.type, nullable: true }],
    cost: isSimple(expression) ? 'point' : 'unbounded',
    owner: callOwner(run.principal),
    running: run.running,
  })
  return env.engine.bind(rows[0]?.[0] ?? null, column.type)
}

export function recordChanges(
  audit: Audit,
  { principal, requestId, address }: RunningCall,
  changes: readonly CatalogueChange[],
): void {
  for (const change of changes) {
    const table = change.kind === 'create' ? change.table.name : change.name
    audit.record({
      event: 'query.defined',
      actor: principal.subject,
      client: principal.clientId,
      target: table,
      address,
      requestId,
      details: { statement: statementName(change), table, ...changedBy(change) },
    })
    recordHold(audit, change, { actor: principal.subject, client: principal.clientId, address, requestId })
  }
}

/** What a declarative file changes of retention and holds. */
export function recordFileChange(audit: Audit, change: CatalogueChange): void {
  if (change.kind !== 'drop' && isRetentionChanged(change)) {
    const { name } = change.table
    const { retention } = changedBy(change)
    const details = {
      statement: statementName(change),
      table: name,
      changed: ['retention'],
      retention: retention ?? 'none',
      source: 'file',
    }
    audit.record({ event: 'query.defined', target: name, details })
  }
  recordHold(audit, change, {}, 'file')
}

function isRetentionChanged(change: Exclude<CatalogueChange, { kind: 'drop' }>): boolean {
  const before = change.kind === 'alter' ? change.from.retention : undefined
  return JSON.stringify(before) !== JSON.stringify(change.table.retention)
}

type HoldActor = Pick<AuditEvent, 'actor' | 'client' | 'address' | 'requestId'>

/** A table that is held from now on, or no longer. */
function recordHold(audit: Audit, change: CatalogueChange, by: HoldActor, source?: string): void {
  if (change.kind === 'drop') return
  const before = (change.kind === 'alter' && change.from.isHeld) || false
  const { name, isHeld = false } = change.table
  if (isHeld === before) return
  const details = { table: name, ...(source !== undefined && { source }) }
  audit.record({ ...by, event: isHeld ? 'table.held' : 'table.released', target: name, details })
}

function statementName(change: CatalogueChange): string {
  switch (change.kind) {
    case 'create':
      if (change.table.kept !== undefined) return 'create-materialized-view'
      return change.table.view === undefined ? 'create' : 'create-view'
    case 'drop':
      return change.isView ? 'drop-view' : 'drop'
    case 'alter':
      return change.step.kind
  }
}

const RIGHTS = [
  'readScope',
  'writeScope',
  'rowFilter',
  'stepUp',
  'checks',
  'description',
  'isLive',
  'isColumnar',
  'retention',
  'isHeld',
] as const satisfies readonly (keyof TableDefinition)[]

function changedBy(change: CatalogueChange): { changed?: readonly string[]; retention?: string } {
  if (change.kind === 'drop') return {}
  const { table } = change
  const { time, on } = table.retention ?? {}
  const retention = isRetentionChanged(change) ? { retention: time === undefined ? 'none' : `${time} on ${on}` } : {}
  if (change.kind === 'create' || change.step.kind !== 'rights') return retention
  const { from } = change
  return {
    ...retention,
    changed: RIGHTS.filter((name) => JSON.stringify(table[name]) !== JSON.stringify(from[name])).map((name) =>
      name.startsWith('is') ? name.slice(2).toLowerCase() : name.toLowerCase(),
    ),
  }
}
