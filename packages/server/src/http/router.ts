/** Finds the route of a path. Paths are case-insensitive, and a trailing slash is significant. */
import { segmentsOf } from './request/request-target.ts'
import type { Route, RouteGroup } from './route.ts'

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

/** A path that is served, but not by this method. */
export interface WrongMethod {
  readonly group: RouteGroup
  /** For the Allow header (RFC 9110 §10.2.1). */
  readonly allow: readonly string[]
}

export class Router {
  /** Paths without parameters by their lower-case form. */
  readonly #fixed = new Map<string, Resource>()
  readonly #parametric: Resource[] = []

  add(group: RouteGroup): void {
    for (const route of group.routes) {
      const pattern = route.path
      const segments = pattern.split('/').map((segment) => (isParameter(segment) ? segment : segment.toLowerCase()))
      const isFixed = !segments.some(isParameter)
      const resource =
        (isFixed ? this.#fixed.get(segments.join('/')) : this.#parametric.find((known) => known.pattern === pattern)) ??
        this.#create(pattern, segments, isFixed)
      if (resource.routes.has(route.method)) throw new Error(`${route.method} ${pattern} is declared twice`)
      resource.routes.set(route.method, { route, group, params: undefined })
      if (route.method === 'GET') resource.routes.set('HEAD', { route: headOf(route), group, params: undefined })
    }
  }

  #create(pattern: string, segments: readonly string[], isFixed: boolean): Resource {
    const resource = { pattern, segments, routes: new Map() }
    if (isFixed) this.#fixed.set(segments.join('/'), resource)
    else this.#parametric.push(resource)
    return resource
  }

  find(method: string, path: string): Match | WrongMethod | undefined {
    // Most requests name a fixed path as it is declared: one look-up.
    const fixed = this.#fixed.get(path) ?? this.#fixed.get(path.toLowerCase())
    if (fixed !== undefined) return pick(fixed, method, undefined)
    const segments = segmentsOf(path)
    const decoded = path.includes('%') ? this.#fixed.get(segments.join('/').toLowerCase()) : undefined
    if (decoded?.segments.length === segments.length) return pick(decoded, method, undefined)
    let wrong: WrongMethod | undefined
    for (const resource of this.#parametric) {
      if (!matches(resource.segments, segments)) continue
      const found = pick(resource, method, segments)
      if ('route' in found) return found
      wrong = wrong === undefined ? found : { ...wrong, allow: [...new Set([...wrong.allow, ...found.allow])].sort() }
    }
    return wrong
  }
}

function headOf(route: Route): Route {
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
    if (isParameter(segment)) params.set(segment.slice(1), given[index] ?? '')
  })
  return params
}

function matches(segments: readonly string[], given: readonly string[]): boolean {
  if (segments.length !== given.length) return false
  for (let index = 0; index < segments.length; index++) {
    const expected = segments[index] ?? ''
    const segment = given[index] ?? ''
    if (isParameter(expected)) {
      if (segment === '') return false
    } else if (segment !== expected && segment.toLowerCase() !== expected) return false
  }
  return true
}

function isParameter(segment: string): boolean {
  return segment.startsWith(':')
}
