/** Keeps one result up to date by running its statement again. */
import type { Refusal } from '../../protocol/refusal.ts'
import { difference, stateOf } from './difference.ts'
import { type Evaluation, Evaluator, type EvaluatorEnv } from './evaluator.ts'
import type { LiveResult } from './live-result.ts'
import type { LiveReader } from './reader.ts'
import { inSlices } from './slices.ts'
import type { LiveTarget } from './target.ts'

export class Rerun extends Evaluator {
  readonly tables: readonly string[]
  readonly method
  readonly isRepeated: boolean
  readonly #result: LiveResult

  constructor(result: LiveResult, env: EvaluatorEnv) {
    super(env)
    const { method, tables, readsAuditLog } = result.target
    this.#result = result
    this.method = method
    this.tables = tables
    this.isRepeated = method === 'clock' || readsAuditLog
  }

  join(): void {
    this.open()
    this.env.watches.hasRead(this, this.#result.positions)
  }

  leave(): void {
    this.close()
  }

  protected async evaluate({ startedAt, isWanted }: Evaluation): Promise<readonly LiveResult[]> {
    const result = this.#result
    const { reader, watches } = this.env
    const found = await reader.source.changedSince(result.positions)
    const mayBeSame = this.tables.length > 0 && !this.isRepeated && !result.target.readsSystemTables
    if (found.size === 0 && mayBeSame) {
      watches.hasNothingNew(result.positions)
      return []
    }
    void isWanted
    const isLost = [...found.values()].includes('lost')
    const { version } = result
    await evaluateWhole(result, reader, { startedAt, isLost })
    watches.hasRead(this, result.positions)
    return result.version === version ? [] : [result]
  }

  protected end(reason: Refusal): void {
    this.#result.end(reason)
  }
}

/** Reads the whole result, and turns it into changes, or into a state that nothing leads to if changes were lost. */
export async function evaluateWhole(
  result: LiveResult,
  reader: LiveReader,
  { startedAt, isLost }: { readonly startedAt: number; readonly isLost: boolean },
): Promise<void> {
  const { next, positions } = await readState(result.target, reader)
  if (isLost) result.replace(next, positions, startedAt)
  else result.commit(next, await inSlices(difference(result.state, next)), positions, startedAt)
}

export async function readState(target: LiveTarget, reader: LiveReader) {
  const { rows, positions } = await reader.readWhole(target)
  const { isOrdered, keyNames } = target.plan
  const next = await inSlices(stateOf(rows, { isOrdered, hasKeys: keyNames !== null }))
  return { next, positions }
}
