/** The doors of the server and how often a caller may come through each: by address, and once known by client and by user. */
import { BlockList, isIPv6 } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Metrics } from '../protocol/metrics.ts'
import type { Principal } from '../protocol/principal.ts'
import { Refusal } from '../protocol/refusal.ts'
import { bareAddress } from './client-address.ts'
import type { Budget, Decision, RateLimiter } from './rate-limit.ts'

const DOORS = ['token', 'pages', 'query', 'stream', 'admin'] as const
export type Door = (typeof DOORS)[number]
const COUNTED_BY = ['address', 'client', 'user'] as const
export type CountedBy = (typeof COUNTED_BY)[number]
export type DoorBudgets = { readonly [By in CountedBy]?: Budget }

export interface Doors {
  /** Throws a 429 when the address has come too often. */
  enter(door: Door, address: string): readonly Standing[]
  /** The same for the client and user that a request turned out to be from. */
  admit(
    door: Door,
    address: string,
    caller: { client?: string | undefined; user?: string | undefined },
  ): readonly Standing[]
}

export interface Standing {
  readonly by: CountedBy
  readonly budget: Budget
  readonly decision: Decision
}

export interface DoorOptions {
  readonly limiter: RateLimiter
  readonly budgets: Readonly<Record<Door, DoorBudgets>>
  /** Addresses and networks that are never limited. */
  readonly exempt: readonly string[]
  readonly metrics: Metrics
}

const FIRST_PART: Readonly<Record<string, Door | undefined>> = {
  connect: 'token',
  query: 'query',
  platform: 'stream',
  admin: 'admin',
}
/** Where a browser stands at an address under /connect. */
const BROWSED = /^\/connect\/(authorize|endsession|checksession|device)(?![a-z])/i
const UNLIMITED = /^\/(healthz|readyz|metrics)$/i

const NOT_LIMITED: readonly Standing[] = []

export function createDoors({ limiter, budgets, exempt, metrics }: DoorOptions): Doors {
  const counted = countedNetworks(exempt)
  return {
    enter(door, address) {
      const network = counted(address)
      return network === undefined ? NOT_LIMITED : take(door, 'address', network)
    },
    admit(door, address, { client, user }) {
      if (counted(address) === undefined) return NOT_LIMITED
      return [...take(door, 'client', client), ...take(door, 'user', user)]
    },
  }

  function take(door: Door, by: CountedBy, key: string | undefined): readonly Standing[] {
    const budget = budgets[door][by]
    if (budget === undefined || key === undefined) return NOT_LIMITED
    const decision = limiter.take(`${door} ${by} ${key}`, budget)
    if (!decision.allowed) {
      metrics.count('gatehouse_http_rejected_total', { door, by })
      throw tooMany([{ by, budget, decision }])
    }
    return [{ by, budget, decision }]
  }
}

/** Every request enters by its address before anything is read or checked. */
export function guardDoors(app: FastifyInstance, doors: Doors): void {
  const ofRoute = new Map<string, Door | undefined>()
  app.addHook('onRequest', (request, reply, done) => {
    const door = doorOfRoute(request)
    // What is thrown here refuses the request, as an error given to `done` would.
    if (door !== undefined) sayStanding(reply, doors.enter(door, request.ip))
    done()
  })

  /** The door of a route is looked up once; only what no route takes is judged by its address. */
  function doorOfRoute({ routeOptions, url }: FastifyRequest): Door | undefined {
    const route = routeOptions.url
    if (route === undefined) return doorOf(url)
    if (!ofRoute.has(route)) ofRoute.set(route, doorOf(route))
    return ofRoute.get(route)
  }
}

/** Once its token is read, a caller counts as client and as user too. */
export function admitCaller(doors: Pick<Doors, 'admit'>, door: Door) {
  return (address: string, { clientId, subject, kind }: Principal): readonly Standing[] => {
    const user = kind === 'user' ? subject : undefined
    return doors.admit(door, address, { client: clientId, user })
  }
}

/** The same for routes of the application. */
export function admitAt(doors: Pick<Doors, 'admit'>, door: Door) {
  const admit = admitCaller(doors, door)
  return (request: FastifyRequest, reply: FastifyReply, principal: Principal): void =>
    sayStanding(reply, admit(request.ip, principal))
}

export function doorOf(url: string): Door | undefined {
  const path = pathOf(url)
  if (UNLIMITED.test(path)) return undefined
  if (BROWSED.test(path)) return 'pages'
  const end = path.indexOf('/', 1)
  return FIRST_PART[path.slice(1, end < 0 ? undefined : end).toLowerCase()] ?? 'pages'
}

/** As the router reads it: %63onnect is no way past the limits of connect. */
export function pathOf(url: string): string {
  const end = url.indexOf('?')
  const path = end < 0 ? url : url.slice(0, end)
  if (!path.includes('%')) return path
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** The fields of the IETF draft "RateLimit header fields for HTTP", version 10: one policy by the name of what it counts. */
function sayStanding(reply: FastifyReply, standings: readonly Standing[]): void {
  if (standings.length > 0) reply.headers(standingHeaders(standings))
}

export function standingHeaders(standings: readonly Standing[]): Record<string, string> {
  return {
    'ratelimit-policy': standings
      .map(({ by, budget }) => `"${by}";q=${budget.requests};w=${budget.seconds}`)
      .join(', '),
    ratelimit: standings.map(({ by, decision }) => `"${by}";r=${decision.remaining};t=${decision.seconds}`).join(', '),
  }
}

function tooMany(standings: readonly Standing[]): Refusal {
  const seconds = Math.max(...standings.map(({ decision }) => decision.seconds))
  return new Refusal('http.too_many_requests', 429, `Too many requests: try again in ${seconds} s`, {
    headers: { ...standingHeaders(standings), 'retry-after': String(seconds) },
  })
}

/** A host with IPv6 has a whole /64 to come from: it counts as one. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = address.split('::')
  const groups = head.split(':').filter((group) => group !== '')
  if (tail !== undefined) {
    const rest = tail.split(':').filter((group) => group !== '')
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

const REMEMBERED = 1_000

/** The network that an address counts as; undefined for one that is never limited. */
function countedNetworks(exempt: readonly string[]): (address: string) => string | undefined {
  const list = new BlockList()
  for (const text of exempt) {
    const [address = '', prefix] = text.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    list.addSubnet(address, prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix), family)
  }
  const known = new Map<string, { readonly network: string | undefined }>()
  return (address) => {
    let found = known.get(address)
    if (found === undefined) {
      const bare = bareAddress(address)
      const isExempt = list.check(bare, isIPv6(bare) ? 'ipv6' : 'ipv4')
      found = { network: isExempt ? undefined : networkOf(bare) }
      if (known.size >= REMEMBERED) known.clear()
      known.set(address, found)
    }
    return found.network
  }
}
