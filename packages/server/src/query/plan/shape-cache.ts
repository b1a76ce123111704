/** Plans that serve every statement of a shape, whatever the values of the literals that became parameters. */

import type { IqlValue, Shape } from 'gatehouse-iql'
import { LruMap } from '../../lib/lru-map.ts'
import { type AutoParameter, readAutoParameters } from './auto-parameters.ts'
import { CACHED_CHARACTERS, MAX_KEY_LENGTH, PlanCache } from './plan-cache.ts'

interface ShapePlan {
  readonly text: string
  readonly scopes: ReadonlySet<string>
  readonly autoParameters: readonly AutoParameter[]
  readonly literals: readonly IqlValue[]
}

export class ShapeCache<Plan extends ShapePlan> {
  /** By shape: the indexes of the literals that are no parameters of its plans, and therefore part of their keys. */
  readonly #fixed = new LruMap<readonly number[]>(CACHED_CHARACTERS, (fixed, key) => key.length + fixed.length + 100)
  readonly #plans = new PlanCache<Plan>()

  /** The number of plans, of all scopes. */
  get size(): number {
    return this.#plans.size
  }

  /** The plan with the literals of the text. */
  find(shape: Shape | undefined, text: string, scopes: ReadonlySet<string>): Plan | undefined {
    if (shape === undefined) return undefined
    const fixed = this.#fixed.get(shape.key)
    if (fixed === undefined) return undefined
    const plan = this.#plans.find(keyOf(shape, fixed), scopes)
    const literals = plan && readAutoParameters(plan.autoParameters, shape)
    return literals && { ...plan, text, literals }
  }

  /** False if it is not added: the plan has no parameters, or others than those of its shape. */
  add(shape: Shape, plan: Plan): boolean {
    if (plan.autoParameters.length === 0) return false
    const indexes = new Set(plan.autoParameters.map(({ index }) => index))
    const fixed = [...shape.literals.keys()].filter((index) => !indexes.has(index))
    const key = keyOf(shape, fixed)
    const known = this.#fixed.get(shape.key)
    if (key.length > MAX_KEY_LENGTH || (known !== undefined && !new Set(fixed).isSubsetOf(new Set(known)))) return false
    if (known === undefined || fixed.length < known.length) this.#fixed.set(shape.key, fixed)
    this.#plans.add(key, plan)
    return true
  }

  clear(): void {
    this.#fixed.clear()
    this.#plans.clear()
  }
}

/** A number never continues with NUL, and a text ends at its quote: other literals make another key. */
function keyOf({ key, literals }: Shape, fixed: readonly number[]): string {
  return fixed.length === 0 ? key : fixed.reduce((whole, index) => `${whole}\0${index} ${literals[index]}`, key)
}
