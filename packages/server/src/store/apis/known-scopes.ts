/** Every scope that this installation knows: the built-in ones and those of its APIs; what each is for, and in which tokens it may be. */
import {
  DECISIONS_SCOPE,
  IDENTITY_AUDIENCE,
  isPlatformScope,
  isRight,
  PLATFORM_AUDIENCE,
  PROVISIONING_SCOPE,
  SCOPES,
} from 'gatehouse-protocol'
import type { Api, ApiScope } from './apis.ts'

/** The target of the scopes of the built-in services. Any other target is the resource of an API. */
export const BUILT_IN = 'builtin'

export interface KnownScopesOptions {
  /** Whether the right to provision users exists, which clients have by registration and no role gives. */
  readonly provisioning?: boolean
  /** Undefined where no agents are served. */
  readonly agents?: AgentAccess | undefined
}

/** What agents use: the address that their tokens are for, and the scopes that these may have. */
export interface AgentAccess {
  readonly resource: string
  readonly scopes: readonly string[]
  /** Milliseconds that a grant for agents alone lives, however often it is used. */
  readonly grantMs: number
}

interface OwnScope extends ApiScope {
  readonly api: Api
}

/** Immutable: a change of the definitions makes another one. */
export class KnownScopes {
  readonly apis: readonly Api[]
  /** With those of the scopes that there are. */
  readonly agents: AgentAccess | undefined
  readonly #byResource: ReadonlyMap<string, Api>
  readonly #own: ReadonlyMap<string, OwnScope>
  readonly #all: readonly string[]
  readonly #names: ReadonlySet<string>

  constructor(apis: readonly Api[] = [], { provisioning = false, agents }: KnownScopesOptions = {}) {
    this.apis = apis
    this.#byResource = new Map(apis.map((api) => [api.resource, api]))
    this.#own = new Map(apis.flatMap((api) => api.scopes.map((scope) => [scope.name, { ...scope, api }] as const)))
    this.#all = [...SCOPES, ...(provisioning ? [PROVISIONING_SCOPE] : []), ...this.#own.keys()]
    // A client can be registered for it on every server; no list offers it.
    this.#names = new Set([...this.#all, DECISIONS_SCOPE])
    this.agents = agents && {
      ...agents,
      scopes: agents.scopes.filter((scope) => this.has(scope) && this.isOfPlatform(scope)),
    }
  }

  /** An API by its resource, exactly as declared; `platform` if it has custom scopes. */
  find(resource: string): Api | undefined {
    return this.#byResource.get(resource)
  }

  /** Built-in ones first, in the order of the discovery document. */
  scopes(): readonly string[] {
    return this.#all
  }

  has(scope: string): boolean {
    return this.#names.has(scope)
  }

  /** Users hold rights through roles; other scopes request claims or a refresh token. */
  isRight(scope: string): boolean {
    return isRight(scope)
  }

  /** The rights that roles can give. */
  rights(): readonly string[] {
    return this.#all.filter((scope) => isRight(scope) && scope !== PROVISIONING_SCOPE)
  }

  /** The rights that tables, feeds and topics can name: those of the built-in services. */
  platformRights(): readonly string[] {
    return this.#all.filter((scope) => this.isOfPlatform(scope))
  }

  isOfPlatform(scope: string): boolean {
    return this.findAudience(scope) === PLATFORM_AUDIENCE
  }

  /** Whether a token for agents may have it. */
  isOfAgents(scope: string): boolean {
    return this.agents?.scopes.includes(scope) === true
  }

  /** `builtin`, or the resource of the API. The OpenID scopes, which are in tokens for every target, count as built in. */
  findTarget(scope: string): string {
    const audience = this.findAudience(scope)
    return audience === PLATFORM_AUDIENCE || audience === IDENTITY_AUDIENCE ? BUILT_IN : audience
  }

  /** RFC 9068 §2.2: `platform`, `identity` or the resource of an API. */
  findAudience(scope: string): string {
    const resource = this.#own.get(scope)?.api.resource
    return resource ?? (isPlatformScope(scope) ? PLATFORM_AUDIENCE : IDENTITY_AUDIENCE)
  }

  findAudiences(scopes: Iterable<string>): string[] {
    const audiences = new Set<string>()
    for (const scope of scopes) audiences.add(this.findAudience(scope))
    return [...audiences]
  }

  /** The API of a custom scope. */
  findApi(scope: string): Api | undefined {
    return this.#own.get(scope)?.api
  }

  /** What a custom scope allows, in this language, else in English, else its name. Undefined for built-in scopes. */
  text(scope: string, language: string): string | undefined {
    const own = this.#own.get(scope)
    if (own === undefined) return undefined
    const texts = new Map(Object.entries(own.text))
    return texts.get(language) ?? texts.get('en') ?? scope
  }
}
