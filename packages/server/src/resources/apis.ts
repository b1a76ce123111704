/** APIs: programs of your own that take access tokens of this server, and the scopes of each. */
import { AGENT_PATH, isReservedScope, isUserClaim, nearest, PLATFORM_AUDIENCE } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { closed, number, shortList, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import type { Api } from '../store/apis/apis.ts'
import type { JsonObject, Known, Resource } from './define-resource.ts'

export type DeclaredApi = XStatic<typeof API>

/** RFC 6749 §3.3: `scope-token`. */
export const SCOPE_NAME = /^[\x21\x23-\x5b\x5d-\x7e]+$/
export const LONGEST_SCOPE = 128
const LONGEST_RESOURCE = 512
const MOST_APIS = 200
/** Of all APIs together. */
const MOST_SCOPES = 1_000
/** RFC 3986 §4.3: an absolute URI, which has no fragment; or `platform`. */
const RESOURCE = /^(?:platform|[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)$/

const API = closed(['resource'], {
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

export const APIS = {
  noun: 'api',
  title: 'API',
  section: 'apis',
  isBeforeTables: true,
  key: 'resource',
  scope: 'Identity/Admin',
  list: shortList(API, 'APIs of your own that take access tokens of this server, and their scopes.'),
  patterns: [
    [SCOPE_NAME.source, 'must consist of visible ASCII characters except " and \\'],
    [RESOURCE.source, 'must be an absolute URI without a fragment, such as https://orders.example.com, or platform'],
  ],
  toItem: toApi,
  present: presentApi,
  declare: declareApi,
  compare: (api) => presentApi(api),
  namedScopes: 'none',
  refersTo: ['attributes'],
  faults: apiFaults,
  faultsTogether: apisFaults,
  refusal: async (...change) => (await import('./api-uses.ts')).refuseUsed(...change),
  isNamedByTables: true,
  isNewerThanNodes: () => true,
  store: ({ apis }) => apis,
  changedEvent: 'apis-changed',
  isExportedIfAny: true,
  routes: {
    list: 'Lists APIs page by page, ordered by resource.',
    pages: { things: 'APIs' },
    create: 'Declares an API. All nodes have it at once.',
    show: 'Shows an API by its resource, which is percent-encoded in the address.',
    change:
      'Changes an API (JSON merge patch; `scopes` is replaced as a whole). The resource stays. Scopes that something names are not removed: the reply names the users. New tokens have the change at once.',
    remove:
      'Removes an API with its scopes. While roles, clients, tables, feeds or topics name one of them it is not removed: the reply names them.',
    instead: 'declare another API',
  },
  commands: {
    argument: 'RESOURCE',
    options: {
      '--name': { value: 'TEXT', help: 'the name that users see (default: the resource)' },
      '--scope': {
        isRead: true,
        value: 'NAME[=TEXT]',
        repeatable: true,
        help: 'a scope, and what it allows in English; repeatable. Replaces all scopes',
      },
      '--text': {
        isRead: true,
        value: 'NAME:LANGUAGE=TEXT',
        repeatable: true,
        help: 'what a scope of this command allows in another language; repeatable',
      },
      '--claim': {
        member: 'claims',
        value: 'NAME',
        repeatable: true,
        help: 'a claim in its tokens, such as role; repeatable',
      },
      '--lifetime': {
        member: 'access_token_lifetime',
        value: 'SECONDS',
        help: 'the lifetime of its tokens, from 60 to 86400',
      },
      '--default': {
        resets: true,
        value: 'MEMBER',
        help: 'return to the default of name, claims, scopes or access_token_lifetime; repeatable',
      },
    },
    columns: ['resource', 'name', 'scopes', 'claims', 'access_token_lifetime'],
    list: {
      summary: 'Lists the APIs that accept tokens of this server.',
      examples: ['api list', 'api list --json'],
    },
    show: { summary: 'Shows an API and its scopes.', examples: ['api show https://orders.example.com'] },
    add: {
      summary: 'Declares an API; RESOURCE is its URI, or platform for scopes of your own in the built-in services.',
      examples: [
        'api add https://orders.example.com --name "Order desk" --scope "orders:write=Place orders" --text "orders:write:de=Orders aufgeben"',
        'api add platform --scope desk:read',
      ],
    },
    set: {
      summary: 'Changes an API, with immediate effect for new tokens.',
      examples: [
        'api set https://orders.example.com --lifetime 600',
        'api set https://orders.example.com --claim role',
      ],
    },
    remove: {
      summary: 'Removes an API and its scopes, unless roles, clients or others use one of them.',
      examples: ['api remove https://orders.example.com --yes'],
      confirm: (resource) => `Remove the API ${resource} with its scopes?`,
      done: (resource) => `The API ${resource} was removed.`,
    },
  },
} as const satisfies Resource<Api, DeclaredApi>

const LANGUAGE = /^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/

const MOST_LISTED = 20

/** About a scope that is not allowed. */
export function describeUnknownScope(name: string, allowed: readonly string[]): string {
  const near = nearest(name, allowed)
  const listed = [...allowed.slice(0, MOST_LISTED), ...(allowed.length > MOST_LISTED ? ['…'] : [])].join(', ')
  return `${JSON.stringify(name)} is not one of ${listed}${near === undefined ? '' : `; did you mean ${near}?`}`
}

/** What one definition alone cannot have. */
function apiFaults(api: DeclaredApi, { attributes, issuer }: Pick<Known, 'attributes' | 'issuer'>): Fault[] {
  const { resource, claims = [], scopes = [] } = api
  const faults: Fault[] = []
  const fault = (path: string, reason: string) => faults.push({ path, text: reason })
  if (/^https?:/i.test(resource) && !isWebAddress(resource)) fault('resource', 'is not a valid address')
  if (issuer !== undefined && ['', '/query', '/Platform', AGENT_PATH].some((path) => resource === issuer + path))
    fault('resource', 'is an address of this server: choose another')
  if (resource === PLATFORM_AUDIENCE)
    for (const member of ['claims', 'access_token_lifetime'] as const)
      if (api[member] !== undefined) fault(member, 'is not for platform, which only gains scopes')
  const known = [...attributes.values()].flatMap(({ claim }) => claim ?? [])
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

function apisFaults(after: readonly Api[], _before: unknown, memberPath: (resource: string) => string): Fault[] {
  const faults: Fault[] = []
  if (after.length > MOST_APIS)
    faults.push({ path: 'apis', text: `there can be at most ${MOST_APIS} APIs, not ${after.length}` })
  const count = after.reduce((sum, { scopes }) => sum + scopes.length, 0)
  if (count > MOST_SCOPES)
    faults.push({ path: 'apis', text: `all APIs together can have at most ${MOST_SCOPES} scopes, not ${count}` })
  const holders = new Map<string, string>()
  for (const { resource, scopes } of after)
    for (const [index, { name }] of scopes.entries()) {
      const holder = holders.get(name.toLowerCase())
      if (holder === undefined) holders.set(name.toLowerCase(), resource)
      else
        faults.push({
          path: `${memberPath(resource)}scopes[${index}].name`,
          text: `"${name}" is a scope of ${holder} already; upper and lower case are the same`,
        })
    }
  return faults
}

function toApi({ resource, name, access_token_lifetime, claims, scopes }: DeclaredApi): Api {
  return {
    resource,
    name: name ?? resource,
    accessTokenLifetime: access_token_lifetime,
    claims: claims ?? [],
    scopes: (scopes ?? []).map((scope) => ({ name: scope.name, text: scope.text ?? {} })),
  }
}

function presentApi(api: Api): JsonObject {
  return { ...declareApi(api), name: api.name, scopes: api.scopes.map(declareScope) }
}

function declareApi({ resource, name, accessTokenLifetime, claims, scopes }: Api): JsonObject {
  return {
    resource,
    ...(name !== resource && { name }),
    ...(accessTokenLifetime !== undefined && { access_token_lifetime: accessTokenLifetime }),
    ...(claims.length > 0 && { claims: [...claims] }),
    ...(scopes.length > 0 && { scopes: scopes.map(declareScope) }),
  }
}

function declareScope({ name, text: texts }: Api['scopes'][number]): object {
  return { name, ...(Object.keys(texts).length > 0 && { text: texts }) }
}
