/** An API as a file or a request declares it: its schema, the checks that a schema cannot make, and the definition that follows from it. */
import { isReservedScope, isUserClaim, nearest, PLATFORM_AUDIENCE } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { closed, number, shortList, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import { type Api, MOST_APIS, MOST_SCOPES } from '../store/apis/apis.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'

export type DeclaredApi = XStatic<typeof API>

/** RFC 6749 §3.3: `scope-token`. */
export const SCOPE_NAME = /^[\x21\x23-\x5b\x5d-\x7e]+$/
export const LONGEST_SCOPE = 128
const LONGEST_RESOURCE = 512
/** RFC 3986 §4.3: an absolute URI, which has no fragment; or `platform`. */
export const RESOURCE = /^(?:platform|[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)$/

export const API = closed(['resource'], {
  resource: text({
    pattern: RESOURCE.source,
    maxLength: LONGEST_RESOURCE,
    examples: ['https://orders.example.com'],
    description:
      'An absolute URI without a fragment, the aud of its tokens, compared by character. It cannot be changed. platform adds scopes to the built-in services.',
  }),
  name: words('Shown to users. Default: the resource.'),
  access_token_lifetime: number('integer', {
    minimum: 60,
    maximum: 86_400,
    description: 'Seconds. The least of this, that of the client and that of the server counts.',
  }),
  claims: shortList(
    text({ minLength: 1, maxLength: 128 }),
    'Claims about the user in its access tokens, such as role, or the claims of attributes.',
  ),
  scopes: shortList(
    closed(['name'], {
      name: text({ pattern: SCOPE_NAME.source, maxLength: LONGEST_SCOPE, examples: ['orders:write'] }),
      text: {
        type: 'object',
        additionalProperties: text({ minLength: 1, maxLength: 200 }),
        description: 'What it allows, by language, such as {"en": "Place orders"}. Default: the name.',
      },
    }),
    'The rights that roles give and clients are registered for.',
  ),
})

/** The messages of the patterns. */
export const API_PATTERNS = [
  [SCOPE_NAME.source, 'must consist of visible ASCII characters except " and \\'],
  [RESOURCE.source, 'must be an absolute URI without a fragment, such as https://orders.example.com, or platform'],
] as const

const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/

const MOST_LISTED = 20

/** About a scope that is not allowed. */
export function notOneOf(name: string, allowed: readonly string[]): string {
  const near = nearest(name, allowed)
  const listed = [...allowed.slice(0, MOST_LISTED), ...(allowed.length > MOST_LISTED ? ['…'] : [])].join(', ')
  return `${JSON.stringify(name)} is not one of ${listed}${near === undefined ? '' : `; did you mean ${near}?`}`
}

/** What one definition alone cannot have. `attributes` are those whose claims it may name. */
export function apiFaults(api: DeclaredApi, attributes: Iterable<AttributeDefinition>): Fault[] {
  const { resource, claims = [], scopes = [] } = api
  const faults: Fault[] = []
  const fault = (path: string, reason: string) => faults.push({ path, text: reason })
  if (/^https?:/i.test(resource) && !isWebAddress(resource)) fault('resource', 'is not a valid address')
  if (resource === PLATFORM_AUDIENCE)
    for (const member of ['claims', 'access_token_lifetime'] as const)
      if (api[member] !== undefined) fault(member, 'is not for platform, which only gains scopes')
  const known = [...attributes].flatMap(({ claim }) => claim ?? [])
  for (const [index, claim] of claims.entries()) {
    if (claims.indexOf(claim) !== index) fault(`claims[${index}]`, `"${claim}" is listed twice`)
    else if (!isUserClaim(claim) && !known.includes(claim)) {
      const near = nearest(claim, ['role', ...known])
      fault(`claims[${index}]`, `unknown claim "${claim}"${near === undefined ? '' : `; did you mean "${near}"?`}`)
    }
  }
  for (const [index, { name, text: texts = {} }] of scopes.entries()) {
    if (isReservedScope(name)) fault(`scopes[${index}].name`, `"${name}" is reserved: choose another`)
    for (const language of Object.keys(texts))
      if (!LANGUAGE.test(language))
        fault(`scopes[${index}].text.${language}`, 'is not the tag of a language, such as en')
  }
  return faults
}

/** With a host and without credentials. */
function isWebAddress(resource: string): boolean {
  const url = URL.parse(resource)
  return (
    url !== null && url.hostname !== '' && url.username === '' && url.password === '' && /^\w+:\/\/[^/]/.test(resource)
  )
}

/** What the APIs `after` a change cannot be together. `pathOf` gives the path of an API in the file. */
export function apisFaults(after: readonly Api[], pathOf: (resource: string) => string): Fault[] {
  const faults: Fault[] = []
  if (after.length > MOST_APIS)
    faults.push({ path: '', text: `there can be at most ${MOST_APIS} APIs, not ${after.length}` })
  const count = after.reduce((sum, { scopes }) => sum + scopes.length, 0)
  if (count > MOST_SCOPES)
    faults.push({ path: '', text: `all APIs together can have at most ${MOST_SCOPES} scopes, not ${count}` })
  const holders = new Map<string, string>()
  for (const { resource, scopes } of after)
    for (const [index, { name }] of scopes.entries()) {
      const holder = holders.get(name.toLowerCase())
      if (holder === undefined) holders.set(name.toLowerCase(), resource)
      else
        faults.push({
          path: `${pathOf(resource)}scopes[${index}].name`,
          text: `"${name}" is a scope of ${holder} already; upper and lower case are the same`,
        })
    }
  return faults
}

/** With the defaults. The declaration has no faults. */
export function apiTarget({ resource, name, access_token_lifetime, claims, scopes }: DeclaredApi): Api {
  return {
    resource,
    name: name ?? resource,
    accessTokenLifetime: access_token_lifetime,
    claims: claims ?? [],
    scopes: (scopes ?? []).map((scope) => ({ name: scope.name, text: scope.text ?? {} })),
  }
}

/** Every member that has a value, by its declared name. */
export function presentApi(api: Api): Readonly<Record<string, unknown>> {
  return { ...declaredApi(api), name: api.name, scopes: api.scopes.map(declaredScope) }
}

/** The same without defaults, as in a file. */
export function declaredApi({
  resource,
  name,
  accessTokenLifetime,
  claims,
  scopes,
}: Api): Readonly<Record<string, unknown>> {
  return {
    resource,
    ...(name !== resource && { name }),
    ...(accessTokenLifetime !== undefined && { access_token_lifetime: accessTokenLifetime }),
    ...(claims.length > 0 && { claims: [...claims] }),
    ...(scopes.length > 0 && { scopes: scopes.map(declaredScope) }),
  }
}

function declaredScope({ name, text: texts }: Api['scopes'][number]): object {
  return { name, ...(Object.keys(texts).length > 0 && { text: texts }) }
}
