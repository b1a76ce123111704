/** Finds the route of a request. Paths are case-insensitive, and a trailing slash is significant. */
import { lazily } from '../lib/once.ts'
import { splitPath } from './request/request-head.ts'
import type { LazyRouteGroups, Route, RouteGroup } from './route.ts'

/** A path of the table with its methods. */
interface Resource {
  readonly pattern: string
  readonly segments: readonly string[]
  readonly routes: Map<string, Match>
}

export interface Match {
  readonly route: Route
  readonly group: RouteGroup
  readonly params: ReadonlyMap<string, string> | undefined
}

/** No route serves the request. */
export interface Unmatched {
  /** The group with the longest prefix of the path. */
  readonly group: RouteGroup | undefined
  /** The methods that the path is served by, for the Allow header (RFC 9110 §10.2.1); undefined for a path that is not served. */
  readonly allow: readonly string[] | undefined
  /** Loads the routes of the group, among which the path may be. */
  readonly load?: () => Promise<void>
}

interface WrongMethod extends Unmatched {
  readonly allow: readonly string[]
}

const READ_METHODS = ['GET', 'HEAD']

export class Router {
  /** Paths without parameters by their lower-case form. */
  readonly #fixed = new Map<string, Resource>()
  readonly #parametric: Resource[] = []
  /** The longest first. */
  readonly #prefixes: [prefix: string, group: RouteGroup][] = []
  /** Keyed by the placeholder of each group that is not loaded yet. */
  readonly #loaders = new Map<RouteGroup, () => Promise<void>>()

  constructor(groups: readonly (RouteGroup | LazyRouteGroups)[]) {
    for (const group of groups) {
      if ('load' in group) this.#addLazy(group)
      else this.#add(group)
    }
  }

  find(method: string, path: string): Match | Unmatched {
    // Most requests name a fixed path as it is declared: one look-up.
    const fixed = this.#fixed.get(path) ?? this.#fixed.get(path.toLowerCase())
    if (fixed !== undefined) return pick(fixed, method, undefined)
    const segments = splitPath(path)
    const decoded = path.includes('%') ? this.#fixed.get(segments.join('/').toLowerCase()) : undefined
    if (decoded?.segments.length === segments.length) return pick(decoded, method, undefined)
    return this.#findParametric(method, segments) ?? this.#fallback(method, segments)
  }

  #findParametric(method: string, segments: readonly string[]): Match | WrongMethod | undefined {
    let wrong: WrongMethod | undefined
    for (const resource of this.#parametric) {
      if (!matches(resource.segments, segments)) continue
      const found = pick(resource, method, segments)
      if ('route' in found) return found
      wrong = wrong === undefined ? found : { ...wrong, allow: [...new Set([...wrong.allow, ...found.allow])].sort() }
    }
    return wrong
  }

  #fallback(method: string, segments: readonly string[]): Match | Unmatched {
    const path = `${segments.join('/').toLowerCase()}/`
    const group = this.#prefixes.find(([prefix]) => path.startsWith(prefix))?.[1]
    const load = group && this.#loaders.get(group)
    if (load !== undefined) return { group, allow: undefined, load }
    if (group?.fallback === undefined) return { group, allow: undefined }
    if (!READ_METHODS.includes(method)) return { group, allow: READ_METHODS }
    return { route: group.fallback, group, params: undefined }
  }

  #add(group: RouteGroup): void {
    for (const route of group.routes) {
      const resource = this.#findOrAddResource(route.path)
      if (resource.routes.has(route.method)) throw new Error(`${route.method} ${route.path} is declared twice`)
      resource.routes.set(route.method, { route, group, params: undefined })
      if (route.method === 'GET') resource.routes.set('HEAD', { route: headRoute(route), group, params: undefined })
    }
    this.#addPrefixes(group)
  }

  #findOrAddResource(pattern: string): Resource {
    const segments = pattern.split('/').map((segment) => (isParameter(segment) ? segment : segment.toLowerCase()))
    const path = segments.some(isParameter) ? undefined : segments.join('/')
    const known = path === undefined ? this.#parametric.find((each) => each.pattern === pattern) : this.#fixed.get(path)
    if (known !== undefined) return known
    const resource = { pattern, segments, routes: new Map() }
    if (path === undefined) this.#parametric.push(resource)
    else this.#fixed.set(path, resource)
    return resource
  }

  /** Loads once; after a failure the next request tries again. */
  #addLazy({ at, limit, load }: LazyRouteGroups): void {
    const group: RouteGroup = { at, routes: [], ...(limit === undefined ? {} : { limit }) }
    this.#addPrefixes(group)
    const addLoaded = async (): Promise<void> => {
      for (const loaded of await load()) this.#add(loaded)
      this.#loaders.delete(group)
    }
    this.#loaders.set(group, lazily(addLoaded))
  }

  /** For equal prefixes, the loaded group comes before its placeholder. */
  #addPrefixes(group: RouteGroup): void {
    for (const at of group.at) this.#prefixes.unshift([at === '/' ? '/' : `${at.toLowerCase()}/`, group])
    this.#prefixes.sort(([a], [b]) => b.length - a.length)
  }
}

function headRoute(route: Route): Route {
  return route.head === undefined ? route : { ...route, handle: route.head }
}

function pick(
  { routes, segments }: Resource,
  method: string,
  given: readonly string[] | undefined,
): Match | WrongMethod {
  const found = routes.get(method)
  if (found === undefined) return wrongMethod(routes)
  return given === undefined ? found : { ...found, params: readParams(segments, given) }
}

function wrongMethod(routes: ReadonlyMap<string, Match>): WrongMethod {
  const [first] = routes.values()
  if (first === undefined) throw new Error('A resource has at least one route')
  return { group: first.group, allow: [...routes.keys()].sort() }
}

function readParams(segments: readonly string[], given: readonly string[]): ReadonlyMap<string, string> {
  const params = new Map<string, string>()
  segments.forEach((segment, index) => {
    if (isRest(segment)) params.set(segment.slice(1, -1), given.slice(index).join('/'))
    else if (isParameter(segment)) params.set(segment.slice(1), given[index] ?? '')
  })
  return params
}

function matches(segments: readonly string[], given: readonly string[]): boolean {
  const hasRest = isRest(segments.at(-1) ?? '')
  if (hasRest ? segments.length > given.length : segments.length !== given.length) return false
  if (hasRest && given.length === segments.length && given.at(-1) === '') return false
  for (let index = 0; index < segments.length; index++) {
    const expected = segments[index] ?? ''
    const segment = given[index] ?? ''
    if (isParameter(expected)) {
      if (segment === '' && !isRest(expected)) return false
    } else if (segment !== expected && segment.toLowerCase() !== expected) return false
  }
  return true
}

/** The segments that follow, with their slashes. */
function isRest(segment: string): boolean {
  return segment.startsWith(':') && segment.endsWith('*')
}

function isParameter(segment: string): boolean {
  return segment.startsWith(':')
}
