/** The claims of attributes: which scope grants each, and their values. */
import type { AttributeValues } from '../../store/accounts/user.ts'
import { listValues } from '../../store/attributes/attribute-values.ts'
import type { AttributeDefinition } from '../../store/attributes/attributes.ts'

/** What a client must be registered for, and its user agree to, where a claim without a scope of its own is requested by name. */
const REQUESTED_SCOPE = 'profile'

/** Immutable: a change of the definitions makes another one. */
export class AttributeClaims {
  readonly #byClaim: ReadonlyMap<string, AttributeDefinition>
  readonly #byScope: ReadonlyMap<string, readonly string[]>

  constructor(definitions: Iterable<AttributeDefinition> = []) {
    const claimed = [...definitions].flatMap((attribute) =>
      attribute.claim === undefined ? [] : [{ claim: attribute.claim, attribute }],
    )
    this.#byClaim = new Map(claimed.map(({ claim, attribute }) => [claim, attribute]))
    const scoped = claimed.flatMap(({ claim, attribute: { scope } }) => (scope === undefined ? [] : [{ claim, scope }]))
    const groups = Map.groupBy(scoped, ({ scope }) => scope)
    this.#byScope = new Map(Array.from(groups, ([scope, group]) => [scope, group.map(({ claim }) => claim)]))
  }

  has(claim: string): boolean {
    return this.#byClaim.has(claim)
  }

  /** The names of all claims. */
  names(): readonly string[] {
    return [...this.#byClaim.keys()]
  }

  /** The claims that the scope grants. */
  ofScope(scope: string): readonly string[] {
    return this.#byScope.get(scope) ?? []
  }

  /** The scope that a request of the claim by its name needs; undefined for a claim that is of no attribute. */
  neededScope(claim: string): string | undefined {
    const attribute = this.#byClaim.get(claim)
    return attribute && (attribute.scope ?? REQUESTED_SCOPE)
  }

  /** A list iff there may be many values; undefined where there is none. */
  claimValue(claim: string, attributes: AttributeValues): unknown {
    const attribute = this.#byClaim.get(claim)
    if (attribute === undefined) return undefined
    const values = listValues(attributes, attribute.name)
    return attribute.many ? (values.length === 0 ? undefined : values) : values[0]
  }
}
