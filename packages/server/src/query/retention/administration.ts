/** What operators see of retention, and a round at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { writeTimestamp } from 'gatehouse-iql'
import type { Audit, Principal } from 'gatehouse-protocol'
import type { TableDefinition } from '../catalogue/definition.ts'
import { heldError, nextMove } from '../catalogue/retention.ts'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import type { RetentionRows, RetentionState } from '../engines/retention-rows.ts'
import { refuse } from '../errors.ts'
import { type Erasure, erase, type RunForCaller } from './erasure.ts'

export interface RetentionStatus {
  readonly table: string
  /** Null: rows are kept for ever, and the table is held. */
  readonly time: string | null
  readonly on: string | null
  readonly hold: boolean
  readonly horizon: string | null
  readonly cut: string | null
  /** The time of the oldest row. */
  readonly oldest: string | null
  /** When the horizon moves next, if nothing is in its way. */
  readonly next: string | null
  /** Why nothing moves. */
  readonly fault: string | null
}

export interface RetentionRun {
  readonly Horizon: string | null
  readonly Cut: string | null
  /** That were deleted. */
  readonly Rows: number
}

/** Members that are absent stay as they are. */
export interface RetentionSetting {
  /** Null: rows are kept for ever from now on. */
  readonly retention?: { readonly time: string; readonly on: string } | null | undefined
  readonly hold?: boolean | undefined
}

export interface RetentionAdministration {
  list(): Promise<readonly RetentionStatus[]>
  /** Undefined if the table is neither held nor has a retention. */
  find(table: string): Promise<RetentionStatus | undefined>
  /** As an ALTER TABLE of the caller. */
  set(caller: Principal, table: string, setting: RetentionSetting): Promise<RetentionStatus | undefined>
  /** What `set` would delete: the row of EXPLAIN. */
  explain(caller: Principal, table: string, setting: RetentionSetting): Promise<object | undefined>
  /** Deletes rows that the condition finds, also closed ones, as a DELETE of the caller; undefined if there is no such table. */
  erase(caller: Principal, table: string, erasure: Erasure): Promise<{ readonly Rows: number } | undefined>
  /** Answers when a round of the keeper has ended; undefined if the table has no retention. */
  run(table: string, signal: AbortSignal): Promise<RetentionRun | undefined>
}

export interface AdministrationOptions {
  readonly rows: RetentionRows
  readonly snapshot: () => CatalogueSnapshot
  /** Runs a statement for a caller. */
  readonly query: RunForCaller
  readonly audit: Audit
  /** The keeper, if it is this node, looks for requests at once. */
  readonly wake: () => void
}

const POLL_MS = 100

export function administerRetention({
  rows,
  snapshot,
  query,
  audit,
  wake,
}: AdministrationOptions): RetentionAdministration {
  const readStatus = async (table: TableDefinition, state: RetentionState | undefined): Promise<RetentionStatus> => {
    const isMoving = !table.isHeld && state?.fault === undefined
    return {
      table: table.name,
      time: table.retention?.time ?? null,
      on: table.retention?.on ?? null,
      hold: table.isHeld ?? false,
      horizon: toText(state?.horizon),
      cut: toText(state?.cut),
      oldest: table.retention === undefined ? null : toText(await rows.oldest(table)),
      next: isMoving ? toText(nextMove(await rows.now(), table)) : null,
      fault: state?.fault ?? null,
    }
  }
  return {
    async list() {
      const states = await rows.list()
      const tables = snapshot().definitions.filter(isKept)
      return Promise.all(tables.map((table) => readStatus(table, states.get(table.name.toLowerCase()))))
    },
    async find(name) {
      const table = snapshot().findDefinition(name)
      return table && isKept(table) ? readStatus(table, await rows.find(name)) : undefined
    },
    async set(caller, name, setting) {
      await query(caller, alterText(name, setting, snapshot()))
      const table = snapshot().findDefinition(name)
      return table && readStatus(table, await rows.find(name))
    },
    async explain(caller, name, setting) {
      return (await query(caller, `EXPLAIN ${alterText(name, setting, snapshot())}`)).rows[0]
    },
    erase: (caller, name, erasure) => erase(caller, name, erasure, { snapshot, query, audit }),
    async run(name, signal) {
      const table = snapshot().findDefinition(name)
      if (table?.retention === undefined) return undefined
      if (table.isHeld) throw heldError(table.name)
      const round = await rows.request(name)
      if (round === undefined) return undefined
      wake()
      return untilDone({ table, round, rows, signal })
    },
  }
}

function isKept({ retention, isHeld }: TableDefinition): boolean {
  return retention !== undefined || isHeld === true
}

function alterText(table: string, { retention, hold }: RetentionSetting, snapshot: CatalogueSnapshot): string {
  const parts = [
    ...(retention === undefined ? [] : [`retention = ${retention === null ? 'NULL' : clause(retention)}`]),
    ...(hold === undefined ? [] : [`hold = ${hold ? 'on' : 'off'}`]),
  ]
  const kind = snapshot.findDefinition(table)?.kept === undefined ? 'TABLE' : 'MATERIALIZED VIEW'
  return `ALTER ${kind} ${quoteName(table)} SET WITH (${parts.join(', ')})`
}

function clause({ time, on }: { readonly time: string; readonly on: string }): string {
  return `'${time.replaceAll("'", "''")}' ON ${quoteName(on)}`
}

function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

interface Waiting {
  readonly table: TableDefinition
  readonly round: number
  readonly rows: RetentionRows
  readonly signal: AbortSignal
}

async function untilDone({ table, round, rows, signal }: Waiting): Promise<RetentionRun | undefined> {
  for (;;) {
    const state = await rows.find(table.name)
    if (state === undefined) return undefined
    if (state.done >= round) {
      if (state.isHeld) throw heldError(table.name)
      if (state.fault !== undefined) throw refuse('Data.RetentionStopped', state.fault)
      return { Horizon: toText(state.horizon), Cut: toText(state.cut), Rows: state.removed }
    }
    await sleep(POLL_MS, undefined, { signal })
  }
}

function toText(micros: bigint | undefined): string | null {
  return micros === undefined ? null : writeTimestamp(micros)
}
