/**
 * The places of users and clients, and their sessions in the audit log: an entry is durable before a place is given, and follows when it
 * ends. What was not renewed in time ends by a timer, and what somebody may no longer use when that changes.
 */
import { createHash, randomBytes } from 'node:crypto'
import { type AuditEvent, type Clock, type GateEvent, Refusal } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import { listValues } from '../store/attributes/attribute-values.ts'
import type { AuditLog } from '../store/audit/audit.ts'
import type { Database } from '../store/database/database.ts'
import { transact } from '../store/database/transaction.ts'
import { createPlaces, lockPlaces, type Place, type Places } from '../store/licences/places.ts'
import type { Product } from '../store/licences/products.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { isAtLeast } from './decide.ts'
import { licenceDisplaced, licenceNeeded } from './refusals.ts'
import { type Licences, type Standing, type SubjectFacts, statusName } from './service.ts'

export interface PlacesEnv {
  readonly licences: Licences
  readonly database: Database
  readonly bus: Pick<Bus, 'subscribe'>
  readonly audit: Pick<AuditLog, 'append'>
  readonly clock: Clock
  readonly metrics: Metrics
  /** The attribute whose value the report has as the firm; empty: none. */
  readonly firm: string
  readonly onError: (error: unknown) => void
}

export interface PlaceRequest {
  readonly facts: SubjectFacts
  readonly product: Product
  /** What tells it from other places of the user or client. */
  readonly place: string
  readonly seconds: number
  /** The client through which it is used. */
  readonly client: string
  readonly way: Way
  /** The process that holds it; undefined where another program does, alone. */
  readonly node?: string
  /** Whether the oldest place ends for it, where the product says so; by default it does. */
  readonly mayDisplace?: boolean
}

/** How a product is used, as the audit log has it. `handler`: through another program, which says so. */
export type Way = 'handler' | 'stream' | 'events' | 'query' | 'live' | 'wire'

export interface TakenPlace {
  readonly session: string
  readonly access: Place['access']
  /** Milliseconds. */
  readonly until: number
  readonly isNew: boolean
}

const CHECK_EVERY_MS = 1_000
/** Looked at by one check after a change. */
const MOST_CHECKED = 100_000

type EndReason = 'idle' | 'changed' | 'displaced' | 'stopped'

export type UsedPlaces = ReturnType<typeof openPlaces>

export function openPlaces(env: PlacesEnv) {
  const { licences, database, bus, clock, metrics, onError } = env
  let mayHaveChanged = false
  let checking: Promise<void> | undefined
  const unsubscribe = bus.subscribe((event) => {
    mayHaveChanged ||= changesAccess(event)
  })
  const timer = setInterval(() => {
    checking ??= check()
      .catch(onError)
      .finally(() => {
        checking = undefined
      })
  }, CHECK_EVERY_MS).unref()

  return {
    /** Takes or renews a place; throws if there is no access, or no place is left. */
    async take(request: PlaceRequest): Promise<TakenPlace> {
      const { facts, product } = request
      const [standing] = await licences.standings(facts, [product])
      const outcome = await inPlaces(facts, product.name, request.place, (change) =>
        takeInside(request, standing, change),
      )
      if (!(outcome instanceof Refusal)) return outcome
      // A node asks again and again for one that waits: that is not refused yet.
      if (request.node === undefined || !isWaiting(outcome, product))
        metrics.count('gatehouse_licence_refused_total', { product: product.name, reason: outcome.code })
      throw outcome
    },

    /** Without effect if it is not held, or if other processes hold it too. `by`: of a process, which has this session. */
    async leave(
      facts: SubjectFacts,
      product: string,
      place: string,
      by?: { readonly node: string; readonly session: string },
    ): Promise<void> {
      await inPlaces(facts, product, place, async ({ own, end, now, places: inside }) => {
        if (own === undefined) return
        const nodes = splitNodes(own)
        // It was ended, or is of a process that was taken for dead.
        if (by !== undefined && (own.session !== by.session || !nodes.includes(by.node))) return
        const others = by === undefined ? [] : nodes.filter((each) => each !== by.node)
        if (others.length > 0) await inside.put({ ...own, nodes: others.join(' ') })
        else await end(own, now, own.displaced === 1 ? 'displaced' : 'stopped')
      })
    },

    /** The sessions that are held still, and until when; `displaced`: another place waits for their end. */
    async renew(sessions: readonly string[], seconds: number) {
      return createPlaces(database.db).renew(sessions, clock() + seconds * 1_000)
    },

    /** Resolves if the database answers. */
    check: (): Promise<void> => createPlaces(database.db).check(),

    async close(): Promise<void> {
      unsubscribe()
      clearInterval(timer)
      await checking
    },
  }

  async function check(): Promise<void> {
    await endLapsed(env, clock())
    if (!mayHaveChanged) return
    mayHaveChanged = false
    await endChanged().catch((error: unknown) => {
      mayHaveChanged = true
      throw error
    })
  }

  /** Those whose user or client may use less than they do. */
  async function endChanged(): Promise<void> {
    const { products } = await licences.definitions()
    const all = await createPlaces(database.db).all(MOST_CHECKED)
    for (const [holder, held] of Map.groupBy(all, (place) => place.holder)) {
      const [, kind, id = ''] = /^(user|client):(.*)$/s.exec(holder) ?? []
      const subject = await licences.find(kind === 'client' ? 'client' : 'user', id)
      const facts = subject && (await licences.facts(subject))
      const named = [...new Set(held.map(({ product }) => product))].flatMap((name) => products.get(name) ?? [])
      const standings = facts === undefined ? [] : await licences.standings(facts, named)
      for (const place of held) {
        const access = standings.find(({ product }) => product.name === place.product)?.decision.access ?? 'none'
        if (isAtLeast(access, place.access)) continue
        await transact(database.db, async (tx) => {
          const now = clock()
          if (await createPlaces(tx).remove(place))
            await env.audit.append(tx, [closedEvent(place, now, 'changed')], now)
        })
      }
    }
  }

  /** What is written and its entries of the audit log are one transaction, in which nobody else changes places of the holder. */
  function inPlaces<T>(
    facts: SubjectFacts,
    product: string,
    name: string,
    work: (change: PlaceChange) => Promise<T>,
  ): Promise<T> {
    const holder = holderName(facts)
    const isShared = database.engine === 'postgres'
    const place = placeDigest(holder, name)
    return transact(database.db, async (tx) => {
      await lockPlaces(database.engine, tx, product, holder)
      const places = createPlaces(tx)
      const events: AuditEvent[] = []
      const end: PlaceChange['end'] = async (ended, at, reason) => {
        if (await places.remove(ended)) events.push(closedEvent(ended, at, reason))
      }
      const now = clock()
      const held: Place[] = []
      for (const each of await places.lockOfHolder(database.engine, product, holder)) {
        if (each.expires_at > now) held.push(each)
        else await end(each, each.expires_at, 'idle')
      }
      const own = held.find((each) => each.place === place)
      const others = held.filter((each) => each !== own)
      const record = (event: AuditEvent) => void events.push(event)
      const inside = { places, holder, place, own, others, now, end, record }
      const result = await work({ ...inside, firm: env.firm, isShared })
      if (events.length > 0) await env.audit.append(tx, events, now)
      return result
    })
  }
}

/** Ends those that were not renewed in time. */
export function endLapsed({ database, audit }: Pick<PlacesEnv, 'database' | 'audit'>, now: number): Promise<void> {
  return transact(database.db, async (tx) => {
    const lapsed = await createPlaces(tx).removeLapsed(database.engine, now)
    if (lapsed.length > 0)
      await audit.append(
        tx,
        lapsed.map((place) => closedEvent(place, place.expires_at, 'idle')),
        now,
      )
  })
}

interface PlaceChange {
  readonly places: Places
  readonly holder: string
  readonly place: string
  /** The place, if it is held. */
  readonly own: Place | undefined
  /** Of the same holder and product. */
  readonly others: readonly Place[]
  readonly now: number
  readonly firm: string
  /** Whether several processes share the database. */
  readonly isShared: boolean
  end(place: Place, at: number, reason: EndReason): Promise<void>
  record(event: AuditEvent): void
}

async function takeInside(
  request: PlaceRequest,
  standing: Standing | undefined,
  change: PlaceChange,
): Promise<TakenPlace | Refusal> {
  const { facts, product, seconds, client, way, node, mayDisplace = true } = request
  const { places, holder, place, own, now, end, record, firm, isShared } = change
  if (own?.displaced === 1) {
    // Nodes leave it when nothing is shown there any more.
    const holders = splitNodes(own).filter((each) => isShared || each === node)
    if (holders.length === 0) await end(own, now, 'displaced')
    return licenceDisplaced(product.name)
  }
  const access = standing === undefined ? 'none' : await chooseAccess(standing, change, mayDisplace)
  if (access instanceof Refusal) return access
  if (standing === undefined || access === 'none') {
    if (own !== undefined) await end(own, now, 'changed')
    return licenceNeeded([product.name], standing?.decision.reason ?? 'none')
  }
  const { kind, until: entitledUntil = Infinity } = standing.decision
  const until = Math.min(now + seconds * 1_000, entitledUntil)
  if (own?.access === access) {
    // Another process of a database that is not shared has ended.
    const nodes = isShared ? joinNodes(own, node) : (node ?? own.nodes)
    await places.put({ ...own, expires_at: until, nodes })
    return { session: own.session, access, until, isNew: false }
  }
  if (own !== undefined) await end(own, now, 'changed')
  const session = `ls_${randomBytes(16).toString('base64url')}`
  const taken = { product: product.name, holder, place, session, access, displaced: 0 } as const
  await places.put({ ...taken, taken_at: now, expires_at: until, nodes: node ?? '' })
  const [firmName] = listValues(facts.subject.attributes, firm)
  record({
    event: 'licence.opened',
    ...{ actor: facts.subject.id, client, target: product.name },
    details: {
      ...{ session, access, place, way, status: statusName(facts.status), kind, count: product.count },
      ...(firmName !== undefined && { firm: String(firmName) }),
    },
  })
  return { session, access, until, isNew: true }
}

/** With real-time access the number of places counts; who has one keeps it. */
async function chooseAccess(
  { product, decision: { access } }: Standing,
  { places, own, others }: PlaceChange,
  mayDisplace: boolean,
): Promise<Standing['decision']['access'] | Refusal> {
  const { simultaneous, whenFull, name } = product
  if (access !== 'realtime' || simultaneous === undefined || own?.access === 'realtime') return access
  const realtime = others.filter((each) => each.access === 'realtime')
  if (realtime.length < simultaneous) return access
  if (whenFull === 'delay' && product.delay !== undefined) return 'delayed'
  if (whenFull === 'displace' && !mayDisplace) return licenceDisplaced(name)
  const waiting = realtime.filter(({ displaced }) => displaced === 0)
  const [oldest] = waiting
  // It ends when its program asks again, its nodes leave it, or its time is over: until then it may go on.
  if (whenFull === 'displace' && oldest !== undefined && realtime.length === waiting.length)
    await places.put({ ...oldest, displaced: 1 })
  const text = `All places of ${name} are in use: ${simultaneous}`
  const headers = whenFull === 'displace' ? { headers: { 'retry-after': '1' } } : {}
  return new Refusal('Licence.Places', 403, text, { ...headers, members: { Products: [name], Limit: simultaneous } })
}

/** Whether the place of another ends for the one that was refused: then it can be had shortly. */
export function isWaiting(error: unknown, { whenFull }: Pick<Product, 'whenFull'>): boolean {
  return error instanceof Refusal && error.code === 'Licence.Places' && whenFull === 'displace'
}

/** By which the audit log tells places of a holder apart. */
export function placeDigest(holder: string, name: string): string {
  return createHash('sha256').update(`${holder}\0${name}`).digest('hex').slice(0, 32)
}

function splitNodes({ nodes }: Pick<Place, 'nodes'>): string[] {
  return nodes.split(' ').filter((node) => node !== '')
}

function joinNodes(place: Pick<Place, 'nodes'>, node: string | undefined): string {
  return [...new Set([...splitNodes(place), ...(node === undefined ? [] : [node])])].join(' ')
}

function holderName({ subject: { kind, id } }: SubjectFacts): string {
  return `${kind}:${id}`
}

/** Who has the place next may have it from `end` on, in the same millisecond: at no instant of the log have both. */
function closedEvent({ product, holder, session, taken_at }: Place, end: number, reason: EndReason): AuditEvent {
  const actor = holder.slice(holder.indexOf(':') + 1)
  const last = Math.max(taken_at, end - 1)
  return {
    event: 'licence.closed',
    ...{ actor, target: product },
    details: { session, last: new Date(last).toISOString(), reason },
  }
}

/** What can take access away. */
function changesAccess({ kind }: GateEvent): boolean {
  switch (kind) {
    case 'licences-changed':
    case 'user-changed':
    case 'rights-changed':
    case 'roles-changed':
    case 'subject-cut':
    case 'subjects-cut':
    case 'client-cut':
    case 'clients-changed':
    case 'attributes-changed':
      return true
    default:
      return false
  }
}
