/**
 * The places that subscriptions and reads of this node hold: one for each sign-in and product. The first use takes it, before its first
 * value; it is left with the last one. While it is held it is renewed.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Principal, Refusal } from 'gatehouse-protocol'
import type { Product } from '../../store/licences/products.ts'
import type { TakenPlace, UsedPlaces, Way } from '../places.ts'
import type { SubjectFacts } from '../service.ts'

export interface HeldPlace {
  readonly taken: TakenPlace
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
}

interface Holding {
  readonly request: HoldRequest
  readonly place: string
  uses: number
  taking: Promise<TakenPlace>
  /** Of which decision it is; undefined: it is to be asked for again. */
  decision: object | undefined
  session: string | undefined
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
  /** Another place waits for the end of this one, or somebody has ended it: what this user or client has is to be decided anew. */
  readonly onLost: (facts: SubjectFacts) => void
  /** `isAvailable` has changed. */
  readonly onAvailability: () => void
}

export type HeldPlaces = ReturnType<typeof openHeldPlaces>

export function openHeldPlaces({ places, isShared, onError, onLost, onAvailability }: HeldPlacesEnv) {
  const { seconds, renewMs, displacingMs } = isShared ? TIMES.several : TIMES.one
  /** Of this process. */
  const node = randomBytes(6).toString('hex')
  const held = new Map<string, Holding>()
  let renewing: Promise<void> | undefined
  let askedAt = performance.now()
  /** When the last renewal began that succeeded. */
  let renewedAt = performance.now()
  let isAvailable = true
  const timer = setInterval(() => {
    const now = performance.now()
    const hasAny = [...held.values()].some(({ session }) => session !== undefined)
    if (!hasAny && isAvailable) renewedAt = now
    if (isShared && isAvailable && now - renewedAt > LOST_AFTER_MS) setAvailable(false)
    if (renewing !== undefined) return
    const isDue = now - askedAt >= renewMs
    const some = [...held.values()].filter(
      ({ session, request }) => session !== undefined && (isDue || request.product.whenFull === 'displace'),
    )
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
    for (const holding of held.values()) holding.decision = undefined
    onAvailability()
  }

  /** One that was ended, or that another displaces, is asked for again: the answer says what follows. */
  async function renew(some: readonly Holding[]): Promise<void> {
    const sessions = some.flatMap(({ session }) => session ?? [])
    const renewed = new Map((await places.renew(sessions, seconds)).map((place) => [place.session, place]))
    for (const { session = '', request } of some) if (renewed.get(session)?.displaced !== 0) onLost(request.facts)
  }

  return {
    /** False while the database cannot be reached: then places may be taken by others. */
    get isAvailable(): boolean {
      return isAvailable
    },

    /** Throws if there is no access, or no place is left. With another decision, a place that is held is asked for again. */
    async hold(request: HoldRequest, decision: object): Promise<HeldPlace> {
      const { facts, product, lingerMs } = request
      const place = placeName(request.principal, request.address)
      const key = `${facts.subject.kind}:${facts.subject.id}\0${product.name}\0${place}`
      let holding = held.get(key)
      if (holding?.decision !== decision) {
        const taking = take(request, place)
        if (holding === undefined) {
          holding = { request, place, uses: 0, taking, decision, session: undefined }
          held.set(key, holding)
        } else {
          holding.taking = taking
          holding.decision = decision
        }
        const own = holding
        taking.then(
          ({ session }) => {
            own.session = session
          },
          () => {
            own.session = undefined
            own.decision = undefined
          },
        )
      }
      const own = holding
      own.uses++
      const release = (): void => {
        own.uses--
        if (own.uses > 0 || held.get(key) !== own) return
        held.delete(key)
        if (own.session !== undefined) places.leave(facts, product.name, place, node).catch(onError)
      }
      try {
        const taken = await own.taking
        return { taken, release: releaseOnce(release, lingerMs) }
      } catch (error) {
        release()
        throw error
      }
    },

    async close(): Promise<void> {
      clearInterval(timer)
      await renewing
      await Promise.all(
        [...held.values()]
          .filter(({ session }) => session !== undefined)
          .map(({ request: { facts, product }, place }) =>
            places.leave(facts, product.name, place, node).catch(onError),
          ),
      )
      held.clear()
    },
  }

  /** One that displaces another has its place when the other has ended. */
  async function take({ facts, product, principal, way }: HoldRequest, place: string): Promise<TakenPlace> {
    const request = { facts, product, place, seconds, client: principal.clientId, way, node }
    for (const deadline = performance.now() + displacingMs; ; await sleep(DISPLACING_TRY_MS)) {
      try {
        return await places.take(request)
      } catch (error) {
        const waits = error instanceof Refusal && error.code === 'Licence.Places' && product.whenFull === 'displace'
        if (!waits || performance.now() > deadline) throw error
      }
    }
  }
}

function releaseOnce(release: () => void, lingerMs: number): () => void {
  let isReleased = false
  return () => {
    if (isReleased) return
    isReleased = true
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
