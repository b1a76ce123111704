/**
 * The places that subscriptions and reads of this node hold: one for each sign-in and product. The first use takes it, before its first
 * value; it is left with the last one. While it is held it is renewed.
 */
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

const SECONDS = 60
const RENEW_EVERY_MS = 20_000
/** How long one that displaces another waits for its end, and how often it looks. */
const [DISPLACING_MS, DISPLACING_TRY_MS] = [5_000, 100]
const DISPLACED_EVERY_MS = 500

export interface HeldPlacesEnv {
  readonly places: UsedPlaces
  readonly onError: (error: unknown) => void
  /** Another place waits for the end of this one, or somebody has ended it: what this user or client has is to be decided anew. */
  readonly onLost: (facts: SubjectFacts) => void
}

export type HeldPlaces = ReturnType<typeof openHeldPlaces>

export function openHeldPlaces({ places, onError, onLost }: HeldPlacesEnv) {
  const held = new Map<string, Holding>()
  let renewing: Promise<void> | undefined
  let renewedAt = performance.now()
  const timer = setInterval(() => {
    const isDue = performance.now() - renewedAt >= RENEW_EVERY_MS
    const some = [...held.values()].filter(
      ({ session, request }) => session !== undefined && (isDue || request.product.whenFull === 'displace'),
    )
    if (isDue) renewedAt = performance.now()
    if (some.length > 0)
      renewing ??= renew(some)
        .catch(onError)
        .finally(() => {
          renewing = undefined
        })
  }, DISPLACED_EVERY_MS).unref()

  /** One that was ended, or that another displaces, is asked for again: the answer says what follows. */
  async function renew(some: readonly Holding[]): Promise<void> {
    const sessions = some.flatMap(({ session }) => session ?? [])
    const renewed = new Map((await places.renew(sessions, SECONDS)).map((place) => [place.session, place]))
    for (const { session = '', request } of some) if (renewed.get(session)?.displaced !== 0) onLost(request.facts)
  }

  return {
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
        if (own.session !== undefined) places.leave(facts, product.name, place).catch(onError)
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
          .map(({ request: { facts, product }, place }) => places.leave(facts, product.name, place).catch(onError)),
      )
      held.clear()
    },
  }

  /** One that displaces another has its place when the other has ended. */
  async function take({ facts, product, principal, way }: HoldRequest, place: string): Promise<TakenPlace> {
    const request = { facts, product, place, seconds: SECONDS, client: principal.clientId, way }
    for (const deadline = performance.now() + DISPLACING_MS; ; await sleep(DISPLACING_TRY_MS)) {
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
