/** A provider as a file or a request declares it: its schema, the checks that a schema cannot make, and the definition that follows. */
import type { XStatic } from 'typebox/schema'
import { DURATION, readDuration, writeDuration } from '../lib/duration.ts'
import { closed, either, flag, oneOf, shortList, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Provider, ProviderRule } from '../store/providers/providers.ts'
import {
  claimValues,
  listOpenIdIssuers,
  OPENID,
  openIdFaults,
  openIdMembers,
  TENANT_ID,
  toOpenId,
} from './openid-shape.ts'

export type DeclaredProvider = XStatic<typeof PROVIDER>

export const MOST_PROVIDERS = 50
/** Of all providers together. */
export const MOST_RULES = 500

export const PROVIDER_ID = /^[a-z0-9][a-z0-9_-]{0,62}$/
export const DOMAIN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/
/** A name, or a JSON Pointer. */
export const CLAIM = /^(?:\/[^/]+(?:\/[^/]*)*|[^/\s][^\s]*)$/

const [HOUR, DAY] = [3_600_000, 86_400_000]
const LEAST_LIFETIME = HOUR / 12
const MOST_LIFETIME = 365 * DAY

const claim = (description: string) => text({ pattern: CLAIM.source, maxLength: 256, description })

const RULE = either(
  closed(['claim', 'value', 'role'], {
    claim: claim('A name, or a JSON Pointer such as /org/desk.'),
    value: text({ minLength: 1, maxLength: 512, description: 'One of the values of the claim.' }),
    role: text({ minLength: 1, description: 'The role that it gives, as long as the claim has the value.' }),
  }),
  closed(['claim', 'attribute'], {
    claim: claim('A name, or a JSON Pointer such as /org/desk.'),
    attribute: text({ minLength: 1, description: 'The attribute that gets the values of the claim.' }),
  }),
)

export const PROVIDER = closed(['id', 'issuer', 'client_id'], {
  id: text({ pattern: PROVIDER_ID.source, description: 'In addresses, such as /external/{id}/callback.' }),
  name: words('On buttons and pages. Default: the id.'),
  ...OPENID,
  domains: shortList(
    text({ pattern: DOMAIN.source, maxLength: 253 }),
    'Domains of e-mail addresses: people who enter a user name in one of them are sent to this provider.',
  ),
  require: {
    type: 'object',
    additionalProperties: claimValues('Values, one of which the claim must have.'),
    description: 'For every claim, one of the values; at every sign-in. Such as {"groups": ["gatehouse"]}.',
  } as const,
  provision: oneOf(
    ['never', 'invited', 'create'],
    'Who gets an account: never: linked identities only; invited: also people with a set-up link; create: everybody who meets require. Default: never.',
  ),
  username_claim: claim('Names the users that are created. Default: preferred_username.'),
  link: {
    ...closed(['claim', 'scim'], {
      claim: claim('The claim that holds the externalId.'),
      scim: words('The SCIM client that has set it.'),
    }),
    description: 'Links an identity to the user whose externalId the SCIM client has set to the claim.',
  },
  rules: shortList(RULE, 'Roles and attributes by claims, applied at every sign-in.'),
  trust_email: flag('Believe its email_verified. Default: false.'),
  agents: flag(
    'It vouches for users to agents (ID-JAG): clients with the grant jwt-bearer get tokens for linked users without a page. Default: false.',
  ),
  lifetime: text({
    pattern: DURATION.source,
    examples: ['7 days'],
    description: 'How long sessions and refresh tokens of a sign-in last at most, from 5 minutes to 365 days.',
  }),
  logout: flag('Continue a sign-out here with a sign-out there. Default: false.'),
  disabled: flag('Nobody can sign in with it. Default: false.'),
})

/** The messages of the patterns. */
export const PROVIDER_PATTERNS = [
  [PROVIDER_ID.source, 'must consist of up to 63 lower-case letters, digits, dashes and underscores'],
  [DOMAIN.source, 'must be a domain in lower case, such as example.com'],
  [CLAIM.source, 'must be the name of a claim, or a JSON Pointer such as /org/desk'],
  [TENANT_ID.source, 'must be the id of a tenant, such as 8a3b6f6e-2f0c-4d0e-9a55-0f4b0a1c2d3e'],
] as const

/** What one definition alone cannot have. `roles` and `attributes` are those that exist. */
export function providerFaults(
  provider: DeclaredProvider,
  roles: ReadonlySet<string>,
  attributes: { has(name: string): boolean },
): Fault[] {
  const faults = openIdFaults(provider)
  const fault = (path: string, reason: string) => faults.push({ path, text: reason })
  if (provider.provision === 'create' && Object.keys(provider.require ?? {}).length === 0)
    fault('require', 'is needed with provision create: it says who gets an account')
  const lifetime = provider.lifetime === undefined ? undefined : readDuration(provider.lifetime)
  if (lifetime !== undefined && (lifetime < LEAST_LIFETIME || lifetime > MOST_LIFETIME))
    fault('lifetime', `must be from ${writeDuration(LEAST_LIFETIME)} to ${writeDuration(MOST_LIFETIME)}`)
  for (const [index, rule] of (provider.rules ?? []).entries()) {
    if ('role' in rule && !roles.has(rule.role)) fault(`rules[${index}].role`, `unknown role "${rule.role}"`)
    if ('attribute' in rule && !attributes.has(rule.attribute))
      fault(`rules[${index}].attribute`, `unknown attribute "${rule.attribute}"`)
  }
  return faults
}

/** What several providers cannot be together. `memberPath` gives the path of one in the file. */
export function providersFaults(
  all: readonly Provider[],
  before: ReadonlyMap<string, Provider>,
  memberPath: (id: string) => string,
): Fault[] {
  const faults = all.flatMap(({ id, issuer }): Fault[] =>
    (before.get(id)?.issuer ?? issuer) === issuer
      ? []
      : [
          {
            path: `${memberPath(id)}issuer`,
            text: 'cannot be changed: linked identities are of it; declare another provider',
          },
        ],
  )
  if (all.length > MOST_PROVIDERS)
    faults.push({ path: '', text: `there can be at most ${MOST_PROVIDERS} providers, not ${all.length}` })
  const rules = all.reduce((sum, each) => sum + each.rules.length, 0)
  if (rules > MOST_RULES)
    faults.push({ path: '', text: `all providers together can have at most ${MOST_RULES} rules, not ${rules}` })
  const [issuers, domains] = [new Map<string, string>(), new Map<string, string>()]
  for (const provider of all) {
    const { id, domains: own } = provider
    // Two definitions of one issuer would share identities.
    const names = listOpenIdIssuers(provider)
    const holder = names.map((name) => issuers.get(name)).find((other) => other !== undefined)
    if (holder !== undefined)
      faults.push({ path: `${memberPath(id)}issuer`, text: `is that of the provider ${holder} already` })
    for (const name of names) issuers.set(name, id)
    for (const domain of own) {
      const other = domains.get(domain)
      if (other !== undefined)
        faults.push({ path: `${memberPath(id)}domains`, text: `${domain} leads to the provider ${other} already` })
      domains.set(domain, id)
    }
  }
  return faults
}

const DEFAULT_USERNAME_CLAIM = 'preferred_username'

/** With the defaults. The declaration has no faults. */
export function toProvider(declared: DeclaredProvider): Provider {
  return {
    ...toOpenId(declared),
    id: declared.id,
    name: declared.name ?? declared.id,
    domains: declared.domains ?? [],
    require: declared.require ?? {},
    provision: declared.provision ?? 'never',
    usernameClaim: declared.username_claim ?? DEFAULT_USERNAME_CLAIM,
    link: declared.link && { claim: declared.link.claim, scim: declared.link.scim },
    rules: (declared.rules ?? []).map(ruleTarget),
    trustEmail: declared.trust_email ?? false,
    agents: declared.agents ?? false,
    lifetime: declared.lifetime === undefined ? undefined : readDuration(declared.lifetime),
    logout: declared.logout ?? false,
    disabled: declared.disabled ?? false,
  }
}

function ruleTarget(rule: NonNullable<DeclaredProvider['rules']>[number]): ProviderRule {
  return 'role' in rule
    ? { claim: rule.claim, value: rule.value, role: rule.role }
    : { claim: rule.claim, attribute: rule.attribute }
}

/** As it is declared, without the members that have their default, and without the secret. */
export function declareProvider(provider: Provider): Readonly<Record<string, unknown>> {
  const { lifetime, link } = provider
  const members: [name: string, value: unknown, isDefault: boolean][] = [
    ['name', provider.name, provider.name === provider.id],
    ...openIdMembers(provider),
    ['domains', provider.domains, provider.domains.length === 0],
    ['require', provider.require, Object.keys(provider.require).length === 0],
    ['provision', provider.provision, provider.provision === 'never'],
    ['username_claim', provider.usernameClaim, provider.usernameClaim === DEFAULT_USERNAME_CLAIM],
    ['link', link, link === undefined],
    ['rules', provider.rules, provider.rules.length === 0],
    ['trust_email', provider.trustEmail, !provider.trustEmail],
    ['agents', provider.agents, !provider.agents],
    ['lifetime', lifetime === undefined ? undefined : writeDuration(lifetime), lifetime === undefined],
    ['logout', provider.logout, !provider.logout],
    ['disabled', provider.disabled, !provider.disabled],
  ]
  const given = members.filter(([, , isDefault]) => !isDefault).map(([name, value]) => [name, value] as const)
  return { id: provider.id, ...Object.fromEntries(given) }
}
