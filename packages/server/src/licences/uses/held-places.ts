/**
 * The places that subscriptions and reads of this node hold: one for each sign-in and product. The first use takes it, before its first
 * value; it is left with the last one. While it is held it is renewed. When another place displaces it, all that use it stop first, and
 * then it is left: only then the other has its place.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Principal, Refusal } from 'gatehouse-protocol'
import type { Product } from '../../store/licences/products.ts'
import { isWaiting, type TakenPlace, type UsedPlaces, type Way } from '../places.ts'
import { licenceDisplaced, placeUnavailable } from '../refusals.ts'
import type { SubjectFacts } from '../service.ts'
import type { Taker } from './taker.ts'

export interface HeldPlace {
  readonly taken: TakenPlace
  /** Why it is held no longer: another place has displaced it. */
  readonly displaced: Refusal | undefined
  /** Without effect after the first call. */
  release(): void
}

export interface HoldRequest {
  readonly facts: SubjectFacts
  readonly product: Product
  readonly principal: Principal
  readonly address: string
  readonly way: Way
  /** How long the place is held after its release. */
  readonly lingerMs: number
  readonly taker: Taker
  /** Whether the oldest place ends for it, where the product says so. */
  readonly mayDisplace: boolean
  /** `displaced` is set: nothing of the product may be shown from now on. */
  onDisplaced(): void
}

interface Holding {
  readonly key: string
  readonly place: string
  /** The last one. */
  request: HoldRequest
  uses: number
  /** Those that are not released. */
  readonly users: Set<HoldRequest>
  /** Undefined: it is to be asked for again. */
  asked: Asked | undefined
  session: string | undefined
  displaced: Refusal | undefined
}

interface Asked {
  /** Of which decision it is. */
  readonly decision: object
  readonly mayDisplace: boolean
  readonly taking: Promise<TakenPlace>
}

/** How long places are held without renewal, how often they are renewed, and how long one that displaces another waits for its end. */
const TIMES = {
  one: { seconds: 60, renewMs: 20_000, displacingMs: 5_000 },
  // When a node is lost, others wait for its places; it ends what it has before they have them.
  several: { seconds: 20, renewMs: 4_000, displacingMs: 22_000 },
} as const
/** A node that could not renew its places for this long may not use them. */
const LOST_AFTER_MS = 15_000
const DISPLACING_TRY_MS = 100
const CHECK_EVERY_MS = 500

export interface HeldPlacesEnv {
  readonly places: UsedPlaces
  /** Whether several nodes share the database. */
  readonly isShared: boolean
  readonly onError: (error: unknown) => void
  /** Others have ended a place of this user or client, such as when its access changed: what it has is to be decided anew. */
  readonly onEnded: (facts: SubjectFacts) => void
  /** `isAvailable` has changed. */
  readonly onAvailability: () => void
}

export type HeldPlaces = ReturnType<typeof openHeldPlaces>

export function openHeldPlaces({ places, isShared, onError, onEnded, onAvailability }: HeldPlacesEnv) {
  const { seconds, renewMs, displacingMs } = isShared ? TIMES.several : TIMES.one
  /** Of this process. */
  const node = randomBytes(6).toString('hex')
  const held = new Map<string, Holding>()
  /** Displaced, and not left yet, because the database failed. */
  const unleft: Holding[] = []
  let renewing: Promise<void> | undefined
  let askedAt = performance.now()
  /** When the last renewal began that succeeded. */
  let renewedAt = performance.now()
  let isAvailable = true
  let outages = 0
  const timer = setInterval(() => {
    const now = performance.now()
    const all = [...held.values()].filter(({ session }) => session !== undefined)
    if (all.length === 0 && isAvailable) renewedAt = now
    if (isShared && isAvailable && now - renewedAt > LOST_AFTER_MS) setAvailable(false)
    if (isAvailable) for (const own of unleft.splice(0)) leaveDisplaced(own)
    if (renewing !== undefined) return
    const isDue = now - askedAt >= renewMs
    const some = all.filter(({ request }) => isDue || request.product.whenFull === 'displace')
    if (isDue) askedAt = now
    if (some.length === 0 && isAvailable) return
    renewing = (isAvailable ? renew(some) : places.check())
      .then(() => {
        if (isDue || !isAvailable) renewedAt = now
        setAvailable(true)
      })
      .catch(onError)
      .finally(() => {
        renewing = undefined
      })
  }, CHECK_EVERY_MS).unref()

  /** What was taken may be another's afterwards: it is taken anew. */
  function setAvailable(to: boolean): void {
    if (isAvailable === to) return
    isAvailable = to
    if (!to) outages++
    for (const own of held.values()) own.asked = undefined
    onAvailability()
  }

  async function renew(some: readonly Holding[]): Promise<void> {
    const asked = some.flatMap((own) => (own.session === undefined ? [] : [{ own, session: own.session }]))
    const sessions = asked.map(({ session }) => session)
    const renewed = new Map((await places.renew(sessions, seconds)).map((place) => [place.session, place]))
    for (const { own, session } of asked) {
      if (own.session !== session) continue
      const found = renewed.get(session)
      if (found === undefined) {
        own.session = undefined
        own.asked = undefined
        onEnded(own.request.facts)
      } else if (found.displaced !== 0) lose(own)
    }
  }

  /** Another place displaces it. */
  function lose(own: Holding): void {
    if (own.displaced !== undefined) return
    const refusal = licenceDisplaced(own.request.product.name)
    own.displaced = refusal
    if (held.get(own.key) === own) held.delete(own.key)
    for (const user of [...own.users]) {
      user.taker.lose(own.key, refusal)
      user.onDisplaced()
    }
    // What still asks for it must not find it free.
    void Promise.allSettled([own.asked?.taking]).then(() => leaveDisplaced(own))
  }

  /** Again, until the database has it: the other place waits for it. */
  function leaveDisplaced(own: Holding): void {
    leave(own).catch((error: unknown) => {
      onError(error)
      unleft.push(own)
    })
  }

  async function leave({ request: { facts, product }, place, session }: Holding): Promise<void> {
    if (session !== undefined) await places.leave(facts, product.name, place, { node, session })
  }

  return {
    /** False while the database cannot be reached: then places may be taken by others. */
    get isAvailable(): boolean {
      return isAvailable
    },

    /** How often they could not be held: what was taken before the last time is to be asked for again. */
    get outages(): number {
      return outages
    },

    /**
     * Throws if there is no access, or no place is left, or the taker has lost it to another. With another decision, a place that is held
     * is asked for again.
     */
    async hold(request: HoldRequest, decision: object): Promise<HeldPlace> {
      const { facts, product, taker, mayDisplace, lingerMs } = request
      const place = placeName(request.principal, request.address)
      const key = `${facts.subject.kind}:${facts.subject.id}\0${product.name}\0${place}`
      const loss = taker.findLoss(key)
      if (loss !== undefined) throw loss
      const own = held.get(key) ?? createHolding(key, place, request)
      held.set(key, own)
      const { asked } = own
      const isAsked = asked?.decision === decision && (asked.mayDisplace || !mayDisplace)
      const { taking } = isAsked ? asked : ask(own, request, decision)
      own.uses++
      own.users.add(request)
      const release = (): void => {
        own.uses--
        if (own.uses > 0 || held.get(key) !== own) return
        held.delete(key)
        leave(own).catch(onError)
      }
      try {
        const taken = await taking
        return {
          taken,
          get displaced() {
            return own.displaced
          },
          release: releaseOnce(() => own.users.delete(request), release, lingerMs),
        }
      } catch (error) {
        own.users.delete(request)
        release()
        if (isDisplaced(error)) taker.lose(key, error)
        throw error
      }
    },

    async close(): Promise<void> {
      clearInterval(timer)
      await renewing
      await Promise.all([...held.values()].map((own) => leave(own).catch(onError)))
      held.clear()
    },
  }

  function ask(own: Holding, request: HoldRequest, decision: object): Asked {
    const asked: Asked = { decision, mayDisplace: request.mayDisplace, taking: take(request, own.place) }
    own.request = request
    own.asked = asked
    asked.taking.then(
      ({ session }) => {
        own.session = session
        // Nothing more would be displaced for it.
        if (own.asked === asked) own.asked = { ...asked, mayDisplace: true }
        if (own.displaced !== undefined) leaveDisplaced(own)
      },
      (error: unknown) => {
        if (own.asked === asked) own.asked = undefined
        if (isDisplaced(error) && own.session !== undefined) lose(own)
        else if (error instanceof Refusal && own.asked === undefined) own.session = undefined
      },
    )
    return asked
  }

  /** One that displaces another has its place when the other has ended. */
  async function take(
    { facts, product, principal, way, mayDisplace }: HoldRequest,
    place: string,
  ): Promise<TakenPlace> {
    const request = { facts, product, place, seconds, client: principal.clientId, way, node, mayDisplace }
    for (const deadline = performance.now() + displacingMs; ; await sleep(DISPLACING_TRY_MS)) {
      try {
        return await places.take(request)
      } catch (error) {
        if (!isWaiting(error, product)) throw error
        if (performance.now() > deadline) throw placeUnavailable(product.name)
      }
    }
  }
}

function createHolding(key: string, place: string, request: HoldRequest): Holding {
  const nothing = { asked: undefined, session: undefined, displaced: undefined }
  return { key, place, request, uses: 0, users: new Set(), ...nothing }
}

function isDisplaced(error: unknown): error is Refusal {
  return error instanceof Refusal && error.code === 'Licence.Displaced'
}

/** `stop` is called at once. */
function releaseOnce(stop: () => void, release: () => void, lingerMs: number): () => void {
  let isReleased = false
  return () => {
    if (isReleased) return
    isReleased = true
    stop()
    if (lingerMs > 0) setTimeout(release, lingerMs).unref()
    else release()
  }
}

/** A sign-in is one place: the browser session, else the grant; of a client's own token the client and its address. */
export function placeName({ sessionId, grantId, clientId, tokenId }: Principal, address: string): string {
  if (sessionId !== undefined) return `session ${sessionId}`
  if (grantId !== undefined) return `grant ${grantId}`
  return `client ${clientId} ${address === '' ? tokenId : address}`
}
