/** What the change log knows of the rows that have changed since a position. */
import type { Steps } from '../../../lib/turns.ts'
import type { LiveReply } from '../../engines/live-source.ts'
import { ROWS_PER_STEP } from './row-steps.ts'

export interface FormerKeys {
  /** Every key that has changed. */
  readonly changed: { readonly size: number; has(key: string): boolean; keys(): Iterable<string> }
  /** Those whose rows belonged to the members of the family, by the routes of these. */
  readonly held: ReadonlyMap<string, ReadonlySet<string>>
  /** Keys for which it is not known whether their rows belonged to a member. */
  readonly unknown: readonly string[]
}

/** Computed from the earlier rows. Undefined if there are too many. */
export function* collectFormerKeys({ changed, rows, exceeded }: LiveReply): Steps<FormerKeys | undefined> {
  if (changed === undefined || exceeded !== 'no') return undefined
  const held = new Map<string, Set<string>>()
  const unknown: string[] = []
  let count = 0
  for (const { key, route } of rows) {
    if (count++ % ROWS_PER_STEP === 0) yield
    const keys = held.get(route) ?? new Set()
    held.set(route, keys.add(key))
  }
  for (const [key, { wasInserted, isFormerKept }] of changed) {
    if (count++ % ROWS_PER_STEP === 0) yield
    if (!wasInserted && !isFormerKept) unknown.push(key)
  }
  return { changed, held, unknown }
}
