/** A live result in the model of a grid. */
import { type Signal, signal } from '@preact/signals'
import { type LicenceLabel, type Live, type Row, statement as toStatement } from '../../../../client/src/index.ts'
import { scan } from '../../editor/scan.ts'
import { gate } from '../../gate.ts'
import { LiveRows } from '../../grid/live-rows.ts'
import type { GridModel } from '../../grid/model.ts'
import type { GivenParameters } from './copy-as.ts'

export type LiveState =
  | { readonly kind: 'opening' }
  | {
      readonly kind: 'live'
      readonly method: string
      readonly model: GridModel
      readonly changes: number
      readonly licences: readonly LicenceLabel[]
      readonly asOf: string | undefined
    }
  | { readonly kind: 'failed'; readonly error: unknown }

/** What people see and can follow. */
const CHANGES_PER_SECOND = 10

/** Opens it; `close` ends it here and on the server. */
export function openLive(
  text: string,
  parameters: GivenParameters,
): { readonly state: Signal<LiveState>; readonly close: () => void } {
  const state = signal<LiveState>({ kind: 'opening' })
  const live = gate.live<Row>(toStatement(text, parameters as Readonly<Record<string, string>>), {
    maxRate: CHANGES_PER_SECOND,
  })
  let isClosed = false
  void follow(live, isOrdered(text), state).catch((error) => {
    if (!isClosed) state.value = { kind: 'failed', error }
  })
  return {
    state,
    close() {
      isClosed = true
      live.close()
    },
  }
}

async function follow(live: Live<Row>, ordered: boolean, state: Signal<LiveState>): Promise<void> {
  let shown: LiveRows | undefined
  let changes = 0
  for await (const change of live) {
    if (shown?.hasColumns(live.columns) !== true) shown = new LiveRows(live.columns)
    shown.apply(live, change, ordered)
    if (!change.snapshot) changes++
    const { method = '', licences, asOf } = live
    state.value = { kind: 'live', method, model: shown.model, changes, licences, asOf }
  }
}

/** Whether the statement determines the order of the rows: the last ORDER BY outside parentheses. */
function isOrdered(text: string): boolean {
  let depth = 0
  let ordered = false
  for (const { key } of scan(text)) {
    if (key === '(') depth++
    else if (key === ')') depth--
    else if (key === 'order' && depth === 0) ordered = true
  }
  return ordered
}
