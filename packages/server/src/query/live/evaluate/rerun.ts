/** Keeps one result up to date by running its statement again. */

import type { Refusal } from 'gatehouse-protocol'
import { BACKGROUND, inTurns } from '../../../lib/turns.ts'
import type { TableChange } from '../../engines/live-source.ts'
import { refuse } from '../../errors.ts'
import { difference, type LiveState, toState } from '../results/difference.ts'
import type { LiveResult, VoidReason } from '../results/live-result.ts'
import type { LiveTarget } from '../target.ts'
import { type Evaluation, Evaluator, type EvaluatorEnv } from './evaluator.ts'
import type { LiveReader, ReadOptions } from './reader.ts'

export class Rerun extends Evaluator {
  readonly tables: readonly string[]
  readonly method
  readonly isRepeated: boolean
  readonly #result: LiveResult
  readonly #reading = new AbortController()

  constructor(result: LiveResult, env: EvaluatorEnv) {
    super(env)
    const { method, tables, isPolled } = result.target
    this.#result = result
    this.method = method
    this.tables = tables
    this.isRepeated = method === 'clock' || isPolled
  }

  join(): void {
    this.open(this.#result.positions)
  }

  leave(): void {
    this.close()
    this.#reading.abort(refuse('Limit.Cancelled', 'The statement has ended'))
  }

  protected async evaluate(evaluation: Evaluation): Promise<readonly LiveResult[]> {
    const result = this.#result
    const { reader, watches } = this.env
    const found = await reader.source.changedSince(result.positions)
    // The table may have been marked because of a commit that this result has already seen.
    if (found.size === 0 && !this.isRepeated && !result.target.readsSystemTables) {
      watches.hasNothingNew(result.positions)
      return []
    }
    const voidBy = findVoidReason(found)
    const { version } = result
    await evaluateWhole(result, reader, { ...evaluation, voidBy, signal: this.#reading.signal })
    watches.hasRead(this, result.positions)
    return result.version === version ? [] : [result]
  }

  protected end(reason: Refusal): void {
    this.#result.end(reason)
  }
}

/** Undefined if the changes are known. */
export function findVoidReason(found: ReadonlyMap<string, TableChange>): VoidReason | undefined {
  const changes = [...found.values()]
  if (changes.includes('undone')) return 'Lost'
  return changes.includes('lost') ? 'Definition' : undefined
}

interface WholeEvaluation extends Pick<Evaluation, 'startedAt'>, ReadOptions {
  /** Set if the changes are not known. */
  readonly voidBy: VoidReason | undefined
}

/** Reads the whole result and commits the difference; replaces the state if changes were lost. */
export async function evaluateWhole(
  result: LiveResult,
  reader: LiveReader,
  { startedAt, voidBy, ...options }: WholeEvaluation,
): Promise<void> {
  const { evaluator } = result
  const { next, positions, asOf } = await readState(result.target, reader, options, result.state)
  const changes = voidBy !== undefined ? undefined : await inTurns(difference(result.state, next), BACKGROUND)
  // The result has another evaluator by now, or none.
  if (result.evaluator !== evaluator) return
  if (changes === undefined) result.replace(next, positions, startedAt, voidBy ?? 'Definition', asOf)
  else result.commit(next, changes, positions, startedAt, asOf)
}

export async function readState(target: LiveTarget, reader: LiveReader, options: ReadOptions, held?: LiveState) {
  const { rows, positions, times } = await reader.readWhole(target, options)
  const { isOrdered, keyNames } = target.plan
  const next = await inTurns(toState(rows, { isOrdered, hasKeys: keyNames !== null }, held), BACKGROUND)
  return { next, positions, asOf: target.asOf(times) }
}
