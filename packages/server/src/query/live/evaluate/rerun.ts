/** Keeps one result up to date by running its statement again. */

import type { Refusal } from 'gatehouse-protocol'
import { BACKGROUND, inTurns } from '../../../lib/turns.ts'
import { refuse } from '../../errors.ts'
import { difference, type LiveState, stateOf } from '../results/difference.ts'
import type { LiveResult } from '../results/live-result.ts'
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
    const { method, tables, readsAuditLog } = result.target
    this.#result = result
    this.method = method
    this.tables = tables
    this.isRepeated = method === 'clock' || readsAuditLog
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
    // A table may have been marked because of what this very result has seen already.
    if (found.size === 0 && !this.isRepeated && !result.target.readsSystemTables) {
      watches.hasNothingNew(result.positions)
      return []
    }
    const isLost = [...found.values()].includes('lost')
    const { version } = result
    await evaluateWhole(result, reader, { ...evaluation, isLost, signal: this.#reading.signal })
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
  { startedAt, isLost, ...options }: Pick<Evaluation, 'startedAt'> & ReadOptions & { readonly isLost: boolean },
): Promise<void> {
  const { evaluator } = result
  const { next, positions } = await readState(result.target, reader, options, result.state)
  const changes = isLost ? undefined : await inTurns(difference(result.state, next), BACKGROUND)
  // It was given to another evaluator meanwhile, or to none.
  if (result.evaluator !== evaluator) return
  if (changes === undefined) result.replace(next, positions, startedAt)
  else result.commit(next, changes, positions, startedAt)
}

export async function readState(target: LiveTarget, reader: LiveReader, options: ReadOptions, held?: LiveState) {
  const { rows, positions } = await reader.readWhole(target, options)
  const { isOrdered, keyNames } = target.plan
  const next = await inTurns(stateOf(rows, { isOrdered, hasKeys: keyNames !== null }, held), BACKGROUND)
  return { next, positions }
}
