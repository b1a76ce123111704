/** Runs statements one after another; each result streams into the model of its grid. */
import { type Signal, signal } from '@preact/signals'
import { DEFINING } from 'gatehouse-iql'
import { type Batches, type LicenceLabel, statement as toStatement } from '../../../../client/src/index.ts'
import { tableChanges } from '../../editor/catalogue.ts'
import { type Part, parameterNames, scan, splitStatements } from '../../editor/scan.ts'
import { gate } from '../../gate.ts'
import type { GridColumn } from '../../grid/column.ts'
import { GridModel } from '../../grid/model.ts'
import type { GivenParameters } from './copy-as.ts'
import { addToHistory } from './history.ts'

export type OutcomeState =
  | { readonly kind: 'running' }
  | { readonly kind: 'done'; readonly milliseconds: number; readonly rowsAffected: number | undefined }
  | { readonly kind: 'cancelled'; readonly milliseconds: number }
  | { readonly kind: 'failed'; readonly milliseconds: number; readonly error: unknown }

/** The outcome of one statement. */
export interface Outcome {
  readonly id: number
  readonly text: string
  /** Its position in the text of the tab. */
  readonly from: number
  readonly parameters: GivenParameters
  readonly kind: StatementKind
  readonly startedAt: number
  readonly state: Signal<OutcomeState>
  /** Once the columns are known; of a write only with RETURNING. */
  readonly model: Signal<GridModel | undefined>
  readonly requestId: Signal<string | undefined>
  /** There are more rows than a page can hold. */
  readonly isCut: Signal<boolean>
  /** What is delayed, or left out. */
  readonly licences: Signal<readonly LicenceLabel[]>
}

export type StatementKind = 'query' | 'about' | 'write'

/** All that has been run of a tab. */
export interface Run {
  readonly outcomes: readonly Outcome[]
  readonly isRunning: boolean
  readonly cancel: () => void
}

const NOTHING: Run = { outcomes: [], isRunning: false, cancel() {} }
const runs = new Map<string, Signal<Run>>()

/** The signal of a tab. */
export function tabRun(tabId: string): Signal<Run> {
  let run = runs.get(tabId)
  if (run === undefined) {
    run = signal(NOTHING)
    runs.set(tabId, run)
  }
  return run
}

export function forgetRun(tabId: string): void {
  runs.get(tabId)?.value.cancel()
  runs.delete(tabId)
}

/** More would fill the memory of the page; a download has them all. */
export const MOST_ROWS = 1_000_000
let lastId = 0

/** Runs the statements of a part of a text until one fails. Resolves when the last has ended. */
export async function runPart(tabId: string, part: Part, parameters: GivenParameters): Promise<void> {
  const run = tabRun(tabId)
  run.value.cancel()
  const abort = new AbortController()
  const outcomes = splitStatements(part.text).map(({ text, from }) => begin(text, part.from + from, parameters))
  const started: Outcome[] = []
  const update = (isRunning: boolean) => {
    run.value = { outcomes: [...started], isRunning, cancel: () => abort.abort() }
  }
  for (const outcome of outcomes) {
    if (abort.signal.aborted) break
    started.push(outcome)
    update(true)
    await execute(outcome, abort.signal)
    if (outcome.state.value.kind !== 'done') break
  }
  if (run.value.outcomes[0] === started[0]) update(false)
}

function begin(text: string, from: number, given: GivenParameters): Outcome {
  const names = new Set(parameterNames(text).map((name) => name.toLowerCase()))
  const used = Object.entries(given).filter(([name]) => names.has(name.toLowerCase()))
  return {
    id: ++lastId,
    text,
    from,
    parameters: Object.fromEntries(used),
    kind: statementKind(text),
    startedAt: performance.now(),
    state: signal<OutcomeState>({ kind: 'running' }),
    model: signal<GridModel | undefined>(undefined),
    requestId: signal<string | undefined>(undefined),
    isCut: signal(false),
    licences: signal<readonly LicenceLabel[]>([]),
  }
}

const KINDS: ReadonlyMap<string, StatementKind> = new Map([
  ['select', 'query'],
  ['with', 'query'],
  ['(', 'query'],
  ['explain', 'about'],
  ['show', 'about'],
  ['describe', 'about'],
])

export function statementKind(text: string): StatementKind {
  const first = scan(text).find(({ kind }) => kind !== 'comment')
  return KINDS.get(first?.key ?? '') ?? 'write'
}

function isDefinition(text: string): boolean {
  return DEFINING.has(scan(text).find(({ kind }) => kind !== 'comment')?.key ?? '')
}

async function execute(outcome: Outcome, signal: AbortSignal): Promise<void> {
  const started = performance.now()
  let rowsAffected: number | undefined
  const end = (state: OutcomeState) => {
    outcome.state.value = state
    const { milliseconds } = state as { milliseconds: number }
    const rows = rowsAffected ?? outcome.model.value?.total
    addToHistory({ text: outcome.text, at: Date.now(), ok: state.kind === 'done', rows, milliseconds })
  }
  const elapsed = () => performance.now() - started
  try {
    const query = gate.query(toStatement(outcome.text, outcome.parameters as Readonly<Record<string, string>>), {
      signal,
    })
    if (outcome.kind === 'write') rowsAffected = await readWrite(outcome, await query.result())
    else await readRows(outcome, await query.batches())
    end({ kind: 'done', milliseconds: elapsed(), rowsAffected })
    if (isDefinition(outcome.text)) tableChanges.value++
  } catch (error) {
    if (signal.aborted) end({ kind: 'cancelled', milliseconds: elapsed() })
    else {
      outcome.requestId.value ??= (error as { requestId?: string }).requestId
      end({ kind: 'failed', milliseconds: elapsed(), error })
    }
  }
}

interface WriteResult {
  readonly columns: readonly GridColumn[]
  readonly rows: readonly Readonly<Record<string, unknown>>[]
  readonly rowsAffected: number | undefined
  readonly requestId: string
}

function readWrite(outcome: Outcome, { columns, rows, rowsAffected, requestId }: WriteResult): number | undefined {
  outcome.requestId.value = requestId
  if (columns.length === 0) return rowsAffected
  const model = new GridModel(columns)
  model.append(rows.map((row) => columns.map(({ name }) => row[name])))
  outcome.model.value = model
  return rowsAffected
}

/** Drawing and typing continue in between. */
const SLICE_MS = 8

async function readRows(outcome: Outcome, batches: Batches): Promise<void> {
  const model = new GridModel(batches.columns)
  outcome.requestId.value = batches.requestId
  outcome.licences.value = batches.licences
  outcome.model.value = model
  let sliceStart = performance.now()
  for await (const rows of batches) {
    const room = MOST_ROWS - model.total
    model.append(rows.length > room ? rows.slice(0, room) : rows)
    if (rows.length > room) {
      outcome.isCut.value = true
      return
    }
    if (performance.now() - sliceStart > SLICE_MS) {
      await nextTask()
      sliceStart = performance.now()
    }
  }
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}
