/** Plans by a key, each for the scopes that it was bound with. */
import { LruMap } from '../../lib/lru-map.ts'
import { sameScopes } from './rights.ts'

interface Scoped {
  readonly scopes: ReadonlySet<string>
}

/** Characters of the keys: a plan takes memory in proportion to its statement. */
export const CACHED_CHARACTERS = 500_000
export const MAX_KEY_LENGTH = 10_000
/** Plans of one statement, each for other scopes. */
const MAX_VARIANTS = 8

export class PlanCache<Plan extends Scoped> {
  readonly #plans = new LruMap<readonly Plan[]>(CACHED_CHARACTERS, (plans, key) => plans.length * (key.length + 100))

  /** The number of statements. */
  get size(): number {
    return this.#plans.size
  }

  find(key: string, scopes: ReadonlySet<string>): Plan | undefined {
    const plans = this.#plans.get(key)
    if (plans === undefined) return undefined
    for (const plan of plans) if (sameScopes(plan.scopes, scopes)) return plan
    return undefined
  }

  add(key: string, plan: Plan): void {
    if (key.length > MAX_KEY_LENGTH) return
    const others = this.#plans.get(key) ?? []
    this.#plans.set(key, [plan, ...others].slice(0, MAX_VARIANTS))
  }

  clear(): void {
    this.#plans.clear()
  }
}
