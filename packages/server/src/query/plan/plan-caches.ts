/** Caches of plans: by text or key, and by the shape of a text. */
import type { IqlValue, Shape } from 'gatehouse-iql'
import { LruMap } from '../../lib/lru-map.ts'
import type { TableAccess, TableRights } from '../catalogue/licences.ts'
import { type AutoParameter, readAutoParameters } from './auto-parameters.ts'

export interface CachedPlan {
  readonly text: string
  /** The scopes it was bound with. */
  readonly scopes: ReadonlySet<string>
  /** The tables that products cover, with the access that it was bound with; undefined: without a limit. */
  readonly licensed: readonly { readonly table: string; readonly access: TableAccess | undefined }[]
  /** The literals of the text that the plan takes as parameters, and their values. */
  readonly autoParameters: readonly AutoParameter[]
  readonly literals: readonly IqlValue[]
}

/** Characters of the keys: a plan takes memory in proportion to its statement. */
const CACHED_CHARACTERS = 500_000
export const MAX_KEY_LENGTH = 10_000
/** Plans of one statement, one for each set of scopes, and for each access to licensed tables. */
const MAX_VARIANTS = 16

/** The rights that a statement is planned with. */
export interface PlanRights {
  readonly scopes: ReadonlySet<string>
  /** Undefined where no product covers a table. */
  readonly tables?: TableRights | undefined
}

/** Whether a plan has these rights. Throws a PlanPending while what the caller has of its tables is not known. */
export function isPlannedFor(plan: Pick<CachedPlan, 'scopes' | 'licensed'>, { scopes, tables }: PlanRights): boolean {
  if (!sameScopes(plan.scopes, scopes)) return false
  return plan.licensed.length === 0 || plan.licensed.every(({ table, access }) => tables?.find(table) === access)
}

/** Plans by a key, each for the scopes that it was bound with. */
export class PlanCache<Plan extends CachedPlan> {
  readonly #plans = new LruMap<readonly Plan[]>(CACHED_CHARACTERS, (plans, key) => plans.length * (key.length + 100))

  /** The number of statements. */
  get size(): number {
    return this.#plans.size
  }

  find(key: string, rights: PlanRights): Plan | undefined {
    const plans = this.#plans.get(key)
    if (plans === undefined) return undefined
    for (const plan of plans) if (isPlannedFor(plan, rights)) return plan
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

/** Plans that serve every statement of a shape: the literals that became parameters may have any value. */
export class ShapeCache<Plan extends CachedPlan> {
  /** By shape: the indexes of the literals that did not become parameters, and so are part of the key of the plan. */
  readonly #fixed = new LruMap<readonly number[]>(CACHED_CHARACTERS, (fixed, key) => key.length + fixed.length + 100)
  readonly #plans = new PlanCache<Plan>()

  /** The number of plans, of all scopes. */
  get size(): number {
    return this.#plans.size
  }

  /** The plan with the literals of the text. */
  find(shape: Shape | undefined, text: string, rights: PlanRights): Plan | undefined {
    if (shape === undefined) return undefined
    const fixed = this.#fixed.get(shape.key)
    if (fixed === undefined) return undefined
    const plan = this.#plans.find(cacheKey(shape, fixed), rights)
    const literals = plan && readAutoParameters(plan.autoParameters, shape)
    return literals && { ...plan, text, literals }
  }

  /**
   * False if the plan is not added: none of its literals became a parameter, its key is too long, or one of its fixed literals is a
   * parameter in the known plans of this shape.
   */
  add(shape: Shape, plan: Plan): boolean {
    if (plan.autoParameters.length === 0) return false
    const indexes = new Set(plan.autoParameters.map(({ index }) => index))
    const fixed = [...shape.literals.keys()].filter((index) => !indexes.has(index))
    const key = cacheKey(shape, fixed)
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

/** NUL cannot be part of a literal, so different literals give different keys. */
function cacheKey({ key, literals }: Shape, fixed: readonly number[]): string {
  return fixed.length === 0 ? key : fixed.reduce((whole, index) => `${whole}\0${index} ${literals[index]}`, key)
}

/** All scopes are compared, because a table may require any of them. */
function sameScopes(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  // Tokens with the same scope parameter share a set, so two sets are seldom compared name by name.
  if (a === b) return true
  if (a.size !== b.size) return false
  for (const scope of a) if (!b.has(scope)) return false
  return true
}
