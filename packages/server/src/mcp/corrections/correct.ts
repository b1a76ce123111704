/** The statement that failed, corrected: rules suggest statements, and one that runs for its caller is shown. */
import type { Refusal } from 'gatehouse-protocol'
import type { Mistake } from './mistake.ts'
import { Pieces } from './pieces.ts'
import { RULES } from './rules.ts'

/** What is known of the caller's tables, and whether a statement could run. */
export interface CorrectionEnv extends Pick<Mistake, 'findTable' | 'tableNames'> {
  /** Undefined if it could. */
  readonly check: (statement: string) => Refusal | undefined
}

/** One mistake can hide another. */
const MOST_STEPS = 6
const MOST_CHECKS = 40
/** They are made on a busy machine too. */
const FIRST_CHECKS = 8
/** Plans are made in this turn. */
const MOST_MILLISECONDS = 100
const MOST_CHARACTERS = 2_000
/** What has to be escaped is no statement to copy. */
const UNSAFE = /[^\P{C}\n\t]|\p{Zl}|\p{Zp}/u

export function correctStatement(statement: string, refusal: Refusal, env: CorrectionEnv): string | undefined {
  if (statement.length > MOST_CHARACTERS || UNSAFE.test(statement) || statement.includes('/*')) return undefined
  const tried = new Set<string>()
  const end = performance.now() + MOST_MILLISECONDS
  const search = (failed: string, cause: Refusal, steps: number): string | undefined => {
    for (const candidate of suggest(failed, cause, env)) {
      if (tried.size >= MOST_CHECKS || (tried.size >= FIRST_CHECKS && performance.now() > end)) return undefined
      if (tried.has(candidate) || candidate.length > MOST_CHARACTERS * 2) continue
      tried.add(candidate)
      const next = env.check(candidate)
      if (next === undefined) return candidate
      const found = steps > 1 ? search(candidate, next, steps - 1) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }
  return search(statement, refusal, MOST_STEPS)
}

function suggest(statement: string, refusal: Refusal, { findTable, tableNames }: CorrectionEnv): readonly string[] {
  const { Position: position, Hint: hint } = refusal.details.members ?? {}
  const pieces = new Pieces(statement)
  const offset = hasOffset(position) ? position.Offset : 0
  const mistake: Mistake = {
    ...{ pieces, findTable, tableNames },
    index: Math.max(0, pieces.indexAt(offset)),
    message: refusal.message,
    hint: typeof hint === 'string' ? hint : '',
  }
  const rules = RULES.get(refusal.code.replace(/^IQL\./, '')) ?? []
  return rules.flatMap((rule) => rule(mistake)).filter((candidate) => candidate !== undefined)
}

function hasOffset(position: unknown): position is { readonly Offset: number } {
  return typeof position === 'object' && position !== null && 'Offset' in position
}
