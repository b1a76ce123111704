/** Licences of feeds, controllers and tables on this node: what products cover, and who may see it. */
import type { Principal, Refusal } from 'gatehouse-protocol'
import type { Bus } from '../../events/bus.ts'
import { openFreshness } from '../../events/freshness.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { UsedPlaces, Way } from '../places.ts'
import type { Licences } from '../service.ts'
import { openHeldPlaces } from './held-places.ts'
import { openStandings, type StandingsEnv } from './standings.ts'
import { openTableUses } from './table-uses.ts'
import { Taker } from './taker.ts'
import { TopicAccess } from './topic-access.ts'
import { type CoveredParts, type Named, type TopicCoverage, type TopicRange, topicCoverages } from './topic-coverage.ts'
import { createUses, type Use, type Uses } from './uses.ts'

export interface LicensingEnv extends Omit<StandingsEnv, 'onChanged'> {
  readonly bus: Pick<Bus, 'subscribe' | 'lag' | 'catchUp'>
  readonly licences: Licences
  readonly places: UsedPlaces
  /** Whether several nodes share the database. */
  readonly isShared: boolean
  readonly metrics: Metrics
  readonly onError: (error: unknown) => void
}

export interface TopicChoiceRequest {
  readonly kind: Named
  readonly name: string
  readonly choice: TopicRange
  readonly principal: Principal
}

export interface TopicUseRequest extends TopicChoiceRequest {
  readonly address: string
  readonly way: Way
  /** `access` of the use is different now. */
  onChange(): void
  /** Called with what it would have, before a place is taken: rejects to refuse it. */
  approve?(access: TopicAccess): Promise<void>
}

export type Licensing = ReturnType<typeof openLicensing>

export function openLicensing(env: LicensingEnv) {
  const { licences, places, metrics, onError } = env
  let coverages: Readonly<Record<Named, ReadonlyMap<string, TopicCoverage>>> = {
    feed: new Map(),
    controller: new Map(),
  }
  const open = new Set<TopicUse>()
  const standings = openStandings({ ...env, onChanged: (keys) => uses.recheck(keys) })
  const held = openHeldPlaces({
    places,
    isShared: env.isShared,
    onError,
    onAvailability: () => uses.availabilityChanged(),
    onEnded: ({ subject: { kind, id } }) =>
      void standings.forget(new Set([kind === 'user' ? `user:${id}` : `client:${id}`])),
  })
  const uses: Uses = createUses({ standings, held, metrics, onError })
  const freshness = openFreshness(env)
  const tables = openTableUses({ uses, standings, catchUp: freshness.catchUp, onError })

  return {
    tables,

    catchUp: freshness.catchUp,

    covers: (kind: Named, name: string): boolean => coverages[kind].has(name),

    /** Takes over the products as they are declared now. Resolves to the tables that they cover otherwise than before. */
    async reload(): Promise<ReadonlySet<string>> {
      const { products } = await licences.definitions()
      const changed = tables.cover(products)
      coverages = {
        feed: topicCoverages(products.values(), 'feed'),
        controller: topicCoverages(products.values(), 'controller'),
      }
      await Promise.all([...open].map((use) => use.split(coverages[use.kind].get(use.name)).catch(onError)))
      return changed
    },

    /** Resolves also where there is no access; then it says why. */
    async openTopics(request: TopicUseRequest): Promise<TopicUse> {
      const use = new TopicUse(request, uses, (ended) => open.delete(ended))
      open.add(use)
      try {
        await use.split(coverages[request.kind].get(request.name))
      } catch (error) {
        use.close()
        throw error
      }
      return use
    },

    /** Whether the caller has real-time access to all of it, without using it. */
    async hasRealtime({ kind, name, choice, principal }: TopicChoiceRequest): Promise<boolean> {
      const { parts = [] } = coverages[kind].get(name)?.split(choice) ?? {}
      if (parts.length === 0) return true
      const known = await standings.read(principal)
      return parts.every((products) =>
        products.some((product) => known.standings.get(product)?.decision.access === 'realtime'),
      )
    },

    async close(): Promise<void> {
      freshness.close()
      tables.close()
      standings.close()
      await held.close()
    },
  }
}

/** The use of a topic, or a pattern, of a feed or controller. */
export class TopicUse {
  readonly #request: TopicUseRequest
  readonly #uses: Uses
  readonly #onClosed: (use: TopicUse) => void
  readonly #taker = new Taker()
  #principal: Principal
  #covered: CoveredParts | undefined
  #use: Use | undefined
  #access: TopicAccess | undefined
  #isClosed = false
  #splitting: Promise<void> = Promise.resolve()

  constructor(request: TopicUseRequest, uses: Uses, onClosed: (use: TopicUse) => void) {
    this.#request = request
    this.#uses = uses
    this.#onClosed = onClosed
    this.#principal = request.principal
  }

  get kind(): Named {
    return this.#request.kind
  }

  get name(): string {
    return this.#request.name
  }

  get access(): TopicAccess {
    const parts = this.#use?.parts
    const known = this.#access
    if (known !== undefined && known.parts === parts && known.covered === this.#covered) return known
    this.#access = new TopicAccess(parts, this.#covered)
    return this.#access
  }

  get refusal(): Refusal | undefined {
    return this.access.refusal
  }

  setPrincipal(principal: Principal): void {
    this.#principal = principal
    this.#use?.setPrincipal(principal)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#use?.close()
    this.#onClosed(this)
  }

  /** Products cover other topics now; undefined: none of this feed or controller. */
  split(coverage: TopicCoverage | undefined): Promise<void> {
    const work = this.#splitting.then(() => this.#split(coverage))
    this.#splitting = work.catch(() => {})
    return work
  }

  async #split(coverage: TopicCoverage | undefined): Promise<void> {
    const covered = coverage?.split(this.#request.choice)
    const isFirst = this.#covered === undefined && this.#use === undefined
    if (!isFirst && JSON.stringify(covered?.parts) === JSON.stringify(this.#covered?.parts)) {
      this.#covered = covered
      return
    }
    const { way, address, kind, approve } = this.#request
    const use =
      covered &&
      (await this.#uses.open({
        ...{ parts: covered.parts, principal: this.#principal, address, way, taker: this.#taker },
        needsRealtime: kind === 'controller',
        onChange: () => this.#request.onChange(),
        ...(isFirst && approve !== undefined && { approve: (parts) => approve(new TopicAccess(parts, covered)) }),
      }))
    if (this.#isClosed) {
      use?.close()
      return
    }
    use?.setPrincipal(this.#principal)
    this.#use?.close()
    this.#use = use
    this.#covered = covered
    if (!isFirst) this.#request.onChange()
  }
}
