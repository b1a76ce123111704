/** What a definition reads of claims: requirements, rules, and the claims that are needed for them. Pure. */
import type { AttributeValue } from '../../store/accounts/user.ts'
import type { Provider } from '../../store/providers/providers.ts'
import type { Claims } from '../tokens/jwt.ts'
import type { Proof } from './connector.ts'
import { providerFault } from './faults.ts'

/** The values of a claim: one, or those of an array. The claim is a name, or a JSON Pointer (RFC 6901). */
export function claimValues(claims: Claims, claim: string): readonly unknown[] {
  const value = claim.startsWith('/') ? pointed(claims, claim) : own(claims, claim)
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

/** The texts among the values; numbers and booleans as JSON writes them. */
export function claimTexts(claims: Claims, claim: string): readonly string[] {
  return claimValues(claims, claim).flatMap((value) =>
    typeof value === 'string'
      ? [value]
      : typeof value === 'number' || typeof value === 'boolean'
        ? [String(value)]
        : [],
  )
}

export function claimText(claims: Claims, claim: string): string | undefined {
  const [text, ...others] = claimValues(claims, claim)
  return typeof text === 'string' && text !== '' && others.length === 0 ? text : undefined
}

/** Whether every claim of `require` has one of its values. */
function meetsRequire({ require }: Pick<Provider, 'require'>, claims: Claims): boolean {
  return Object.entries(require).every(([claim, accepted]) =>
    claimTexts(claims, claim).some((value) => accepted.includes(value)),
  )
}

export interface RuleOutcome {
  readonly roles: readonly string[]
  /** By the name of the attribute; empty where the claim is absent. */
  readonly attributes: ReadonlyMap<string, readonly unknown[]>
}

export function applyRules({ rules }: Pick<Provider, 'rules'>, claims: Claims): RuleOutcome {
  const roles = new Set<string>()
  const attributes = new Map<string, readonly unknown[]>()
  for (const rule of rules) {
    if ('role' in rule) {
      if (claimTexts(claims, rule.claim).includes(rule.value)) roles.add(rule.role)
    } else
      attributes.set(rule.attribute, [...(attributes.get(rule.attribute) ?? []), ...claimValues(claims, rule.claim)])
  }
  return { roles: [...roles], attributes }
}

export type AttributeOutcome = ReadonlyMap<string, readonly AttributeValue[]>

/** The top-level claims that a sign-in needs. */
export function neededClaims(provider: Provider): string[] {
  const describing = provider.provision === 'create' ? [topLevel(provider.usernameClaim), ...DESCRIBING] : []
  return [...claimsRead(provider), ...describing]
}

/** Claims that describe a new user. */
const DESCRIBING = ['name', 'email']

/** The top-level claims that `require`, rules and `link` read. */
function claimsRead({ require, rules, link }: Pick<Provider, 'require' | 'rules' | 'link'>): string[] {
  const named = [
    ...Object.keys(require),
    ...rules.map(({ claim }) => claim),
    ...(link === undefined ? [] : [link.claim]),
  ]
  return [...new Set(named.map(topLevel))]
}

/** At every sign-in: nothing that is read was left out, and `require` is met. */
export function checkAllowed({ provider, claims, leftOut }: Proof): void {
  // An absent group would count as "not in it".
  const unread = claimsRead(provider).filter((name) => leftOut.has(name))
  if (unread.length > 0) throw providerFault('identity.groups_missing', `The provider left out ${unread.join(', ')}`)
  if (!meetsRequire(provider, claims))
    throw providerFault('identity.not_allowed', 'A claim of require has no listed value')
}

function topLevel(claim: string): string {
  return claim.startsWith('/') ? unescaped(claim.split('/')[1] ?? '') : claim
}

function pointed(claims: Claims, pointer: string): unknown {
  let value: unknown = claims
  for (const part of pointer.slice(1).split('/').map(unescaped)) {
    if (Array.isArray(value)) value = /^(0|[1-9]\d{0,5})$/.test(part) ? value[Number(part)] : undefined
    else value = own(value, part)
  }
  return value
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}

function own(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return Object.entries(value).find(([key]) => key === name)?.[1]
}
