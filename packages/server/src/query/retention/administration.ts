/** What operators see of retention, and a round at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { writeTimestamp } from 'gatehouse-iql'
import type { Principal } from 'gatehouse-protocol'
import type { TableDefinition } from '../catalogue/definition.ts'
import { heldError } from '../catalogue/retention.ts'
import type { CatalogueSnapshot } from '../catalogue/snapshot.ts'
import type { RetentionRows, RetentionState } from '../engines/retention-rows.ts'
import { refuse } from '../errors.ts'

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
  /** As an ALTER TABLE of the caller. */
  set(caller: Principal, table: string, setting: RetentionSetting): Promise<RetentionStatus | undefined>
  /** What `set` would delete: the row of EXPLAIN. */
  explain(caller: Principal, table: string, setting: RetentionSetting): Promise<object | undefined>
  /** Answers when a round of the keeper has ended; undefined if the table has no retention. */
  run(table: string, signal: AbortSignal): Promise<RetentionRun | undefined>
}

export interface AdministrationOptions {
  readonly rows: RetentionRows
  readonly snapshot: () => CatalogueSnapshot
  /** Runs a statement for a caller. */
  readonly query: (caller: Principal, statement: string) => Promise<{ readonly rows: readonly object[] }>
  /** The keeper, if it is this node, looks for requests at once. */
  readonly wake: () => void
}

const POLL_MS = 100

export function administerRetention({ rows, snapshot, query, wake }: AdministrationOptions): RetentionAdministration {
  const status = async (table: TableDefinition, state: RetentionState | undefined): Promise<RetentionStatus> => ({
    table: table.name,
    time: table.retention?.time ?? null,
    on: table.retention?.on ?? null,
    hold: table.isHeld ?? false,
    horizon: toText(state?.horizon),
    cut: toText(state?.cut),
    oldest: table.retention === undefined ? null : toText(await rows.oldest(table)),
    fault: state?.fault ?? null,
  })
  return {
    async list() {
      const states = await rows.list()
      const tables = snapshot().definitions.filter(({ retention, isHeld }) => retention !== undefined || isHeld)
      return Promise.all(tables.map((table) => status(table, states.get(table.name.toLowerCase()))))
    },
    async set(caller, name, setting) {
      await query(caller, alterText(name, setting))
      const table = snapshot().findDefinition(name)
      return table && status(table, await rows.find(name))
    },
    async explain(caller, name, setting) {
      return (await query(caller, `EXPLAIN ${alterText(name, setting)}`)).rows[0]
    },
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

function alterText(table: string, { retention, hold }: RetentionSetting): string {
  const parts = [
    ...(retention === undefined ? [] : [`retention = ${retention === null ? 'NULL' : clause(retention)}`]),
    ...(hold === undefined ? [] : [`hold = ${hold ? 'on' : 'off'}`]),
  ]
  return `ALTER TABLE ${quoteName(table)} SET WITH (${parts.join(', ')})`
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
      if (state.fault !== undefined) throw refuse('Data.ClockDiffers', state.fault)
      return { Horizon: toText(state.horizon), Cut: toText(state.cut), Rows: state.removed }
    }
    await sleep(POLL_MS, undefined, { signal })
  }
}

function toText(micros: bigint | undefined): string | null {
  return micros === undefined ? null : writeTimestamp(micros)
}
