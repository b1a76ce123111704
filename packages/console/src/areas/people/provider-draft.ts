/** What the form of a provider holds, and the members of the request that follow from it. */
import type { AdminProvider } from '../../../../client/src/index.ts'
import { word } from '../../ui/word.ts'

export interface Rule {
  readonly claim: string
  readonly value: string
  /** `role:NAME` or `attribute:NAME`. */
  readonly gives: string
}

export interface Requirement {
  readonly claim: string
  /** Separated by commas. */
  readonly values: string
}

export interface Draft {
  readonly id: string
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  readonly secret: string
  /** Separated by commas or spaces. */
  readonly domains: string
  readonly provision: AdminProvider['provision']
  readonly require: readonly Requirement[]
  readonly rules: readonly Rule[]
  /** Values of `amr` and `acr`, separated by commas. */
  readonly amr: string
  readonly acr: string
  readonly lifetime: string
  readonly logout: boolean
  readonly private: boolean
  /** The other members, as JSON. */
  readonly more: string
}

export const EMPTY: Draft = {
  id: '',
  name: '',
  issuer: '',
  clientId: '',
  secret: '',
  domains: '',
  provision: 'never',
  require: [],
  rules: [],
  amr: '',
  acr: '',
  lifetime: '',
  logout: false,
  private: false,
  more: '',
}

/** The members without a field. */
export const MORE = [
  'auth_method',
  'assertion_audience',
  'scopes',
  'username_claim',
  'link',
  'trust_email',
  'tenants',
] as const

export function draftProvider(provider: AdminProvider): Draft {
  const { id, name, issuer, client_id: clientId, provision, domains, require, rules, lifetime } = provider
  const trusted = asObject(provider.trust_mfa)
  const more = otherMembers(provider)
  return {
    ...{ id, issuer, clientId, provision },
    name: name === id ? '' : name,
    secret: '',
    domains: readTexts(domains).join(', '),
    require: Object.entries(asObject(require)).map(([claim, values]) => ({ claim, values: listed(values) })),
    rules: (Array.isArray(rules) ? rules : []).map(readRule),
    amr: listed(trusted.amr),
    acr: listed(trusted.acr),
    lifetime: typeof lifetime === 'string' ? lifetime : '',
    logout: provider.logout === true,
    private: provider.private === true,
    more: Object.keys(more).length === 0 ? '' : JSON.stringify(more, undefined, 2),
  }
}

/** The members that the draft gives, and null for those that have their default. */
export function buildRequest(draft: Draft): Readonly<Record<string, unknown>> {
  const [amr, acr] = [split(draft.amr), split(draft.acr)]
  const require = Object.fromEntries(draft.require.map(({ claim, values }) => [claim.trim(), split(values)]))
  const domains = draft.domains.split(/[\s,]+/).filter((domain) => domain !== '')
  return {
    name: draft.name.trim() || null,
    client_id: draft.clientId.trim(),
    domains: domains.length === 0 ? null : domains,
    provision: draft.provision,
    require: draft.require.length === 0 ? null : require,
    rules: draft.rules.length === 0 ? null : draft.rules.map(memberOfRule),
    trust_mfa:
      amr.length + acr.length === 0 ? null : { ...(amr.length > 0 && { amr }), ...(acr.length > 0 && { acr }) },
    lifetime: draft.lifetime.trim() || null,
    logout: draft.logout || null,
    private: draft.private || null,
    ...Object.fromEntries(MORE.map((member) => [member, null])),
    ...readMore(draft.more),
    ...(draft.secret !== '' && { client_secret: draft.secret }),
  }
}

/** Empty rows are not rules. */
export function withoutEmptyRows(draft: Draft): Draft {
  return {
    ...draft,
    require: draft.require.filter(({ claim, values }) => claim.trim() !== '' || values.trim() !== ''),
    rules: draft.rules.filter(({ claim, value, gives }) => claim.trim() + value.trim() + gives !== ''),
  }
}

/** What is wrong with the text of the other members; undefined if nothing. */
export function moreFault(text: string): string | undefined {
  const more = readMore(text)
  if (more === undefined) return 'This is not a JSON object'
  const unknown = Object.keys(more).find((member) => !MORE.some((known) => known === member))
  return unknown === undefined ? undefined : word(`${unknown} is not allowed here, only ${MORE.join(', ')}`)
}

function readMore(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? asObject(value) : undefined
  } catch {
    return undefined
  }
}

function otherMembers(provider: AdminProvider): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    MORE.flatMap((member) => (provider[member] === undefined ? [] : [[member, provider[member]]])),
  )
}

function readRule(rule: unknown): Rule {
  const { claim, value, role, attribute } = asObject(rule)
  return {
    claim: textOrEmpty(claim),
    value: textOrEmpty(value),
    gives: typeof role === 'string' ? `role:${role}` : `attribute:${textOrEmpty(attribute)}`,
  }
}

function memberOfRule({ claim, value, gives }: Rule): object {
  const isAttribute = gives.startsWith(ATTRIBUTE)
  return isAttribute
    ? { claim: claim.trim(), attribute: gives.slice(ATTRIBUTE.length) }
    : { claim: claim.trim(), value: value.trim(), role: gives.slice(ROLE.length) }
}

export const ROLE = 'role:'
export const ATTRIBUTE = 'attribute:'

function split(text: string): readonly string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function listed(value: unknown): string {
  return readTexts(value).join(', ')
}

function readTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
