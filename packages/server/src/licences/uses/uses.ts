/** Uses of what products cover: opened with a licence, told when it changes, counted in the audit log. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Principal, Refusal } from 'gatehouse-protocol'
import type { Metrics } from '../../telemetry/metrics.ts'
import { isAtLeast } from '../decide.ts'
import type { Way } from '../places.ts'
import { isMissing, licenceNeeded, licenceUnavailable, type NeededReason } from '../refusals.ts'
import type { HeldPlace, HeldPlaces } from './held-places.ts'
import { type Standings, type SubjectStandings, subjectKey } from './standings.ts'
import { Taker } from './taker.ts'

/** What a caller may see of a part. */
export type PartAccess =
  | { readonly access: 'realtime'; readonly product: string }
  | {
      readonly access: 'delayed'
      readonly product: string
      /** Milliseconds. */
      readonly delay: number
      /** What is missing for more. */
      readonly missing: NeededReason
    }
  | { readonly access: 'none'; readonly refusal: Refusal }

export interface UseRequest {
  /** The products that cover each part of what is used: any of them opens the part. */
  readonly parts: readonly (readonly string[])[]
  readonly principal: Principal
  readonly address: string
  readonly way: Way
  /** What delayed access does not open has none. */
  readonly needsRealtime?: boolean
  /** How long the places are held after the use; by default a minute for queries, which follow each other. */
  readonly lingerMs?: number
  /** Of uses that follow each other for the same subscription or query; by default it is one of its own. */
  readonly taker?: Taker
  /** Called with what it would have, before a place is taken and anything is recorded: rejects to refuse it. */
  approve?(parts: readonly PartAccess[]): Promise<void>
  /** Called with the access to each part when it has changed. */
  onChange(parts: readonly PartAccess[]): void
}

export interface Use {
  readonly parts: readonly PartAccess[]
  /** What it has may have changed, and is being decided: resolves when it is. */
  readonly deciding: Promise<void> | undefined
  setPrincipal(principal: Principal): void
  close(): void
}

export interface UsesEnv {
  readonly standings: Standings
  readonly held: HeldPlaces
  readonly metrics: Metrics
  readonly onError: (error: unknown) => void
}

const RETRY_MS = 250
export const QUERY_LINGER_MS = 60_000

export type Uses = ReturnType<typeof createUses>

export function createUses(env: UsesEnv) {
  const open = new Map<string, Set<OpenUse>>()
  return {
    /** Resolves with the access to each part, also where it is none. */
    async open(request: UseRequest): Promise<Use> {
      const use = new OpenUse(request, env, open)
      await use.begin()
      return use
    },

    /** Decides anew for these users and clients; undefined: for all. Resolves when all know what is taken away. */
    async recheck(keys: ReadonlySet<string> | undefined): Promise<void> {
      const concerned = keys === undefined ? [...open.values()] : [...keys].flatMap((key) => open.get(key) ?? [])
      await Promise.all(concerned.flatMap((uses) => [...uses].map((use) => use.recheck())))
    },

    /** Whether places can be held has changed: where they cannot, all ends at once. */
    availabilityChanged(): void {
      for (const uses of [...open.values()]) for (const use of [...uses]) use.availabilityChanged()
    },
  }
}

class OpenUse implements Use {
  parts: readonly PartAccess[] = []
  readonly #request: UseRequest
  readonly #env: UsesEnv
  readonly #open: Map<string, Set<OpenUse>>
  readonly #taker: Taker
  /** Until what was asked for has been decided. */
  #mayDisplace: boolean
  #principal: Principal
  /** Places by product. */
  #places = new Map<string, HeldPlace>()
  #isClosed = false
  #hasBegun = false
  deciding: Promise<void> | undefined
  #mustDecideAgain = false

  constructor(request: UseRequest, env: UsesEnv, open: Map<string, Set<OpenUse>>) {
    this.#request = request
    this.#env = env
    this.#open = open
    this.#taker = request.taker ?? new Taker()
    this.#mayDisplace = this.#taker.mayDisplace
    this.#principal = request.principal
    this.#register()
  }

  async begin(): Promise<void> {
    try {
      await this.#decide(true)
      const [first] = this.parts
      if (first?.access === 'none' && this.parts.every(({ access }) => access === 'none')) this.#count(first.refusal)
    } catch (error) {
      this.close()
      throw error
    }
  }

  setPrincipal(principal: Principal): void {
    const before = this.#principal
    if (principal === before) return
    this.#unregister()
    this.#principal = principal
    this.#register()
    const isSame =
      subjectKey(before) === subjectKey(principal) &&
      before.sessionId === principal.sessionId &&
      before.grantId === principal.grantId &&
      before.clientId === principal.clientId
    if (isSame) return
    this.#taker.beginAnew()
    this.#mayDisplace = this.#taker.mayDisplace
    // What the caller before had says nothing of this one.
    this.#tell(this.#request.parts.map((products) => ({ access: 'none', refusal: licenceNeeded(products, 'none') })))
    void this.recheck()
  }

  /** One decision at a time; after a failure again. Resolves when what is taken away is: what is given may wait for its place. */
  recheck(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    this.#decideAgain()
    return this.#takeAway().catch(this.#env.onError)
  }

  #decideAgain(): void {
    this.#mustDecideAgain = true
    // The first decision takes over what changes meanwhile.
    if (!this.#hasBegun) return
    this.deciding ??= this.#decideUntilDone().finally(() => {
      this.deciding = undefined
      if (this.#mustDecideAgain && !this.#isClosed) this.#decideAgain()
    })
  }

  /** Nothing else is waited for. */
  async #takeAway(): Promise<void> {
    while (!this.#isClosed) {
      const { standings, held } = this.#env
      const principal = this.#principal
      const reading = standings.read(principal)
      // The decision reports the error.
      const known = await reading.catch(() => undefined)
      if (known === undefined) await sleep(RETRY_MS, undefined, { ref: false })
      else {
        if (!this.#isClosed && held.isAvailable && this.parts.length > 0)
          this.#tell(lower(this.parts, this.#choose(known)))
        if (principal === this.#principal && standings.isCurrent(principal, reading)) return
      }
    }
  }

  #choose(known: SubjectStandings): readonly PartAccess[] {
    const { parts, needsRealtime = false } = this.#request
    return parts.map((products) => chooseAccess(products, known, needsRealtime))
  }

  availabilityChanged(): void {
    if (this.#env.held.isAvailable) void this.recheck()
    else this.#tell(this.#unavailable())
  }

  #unavailable(): readonly PartAccess[] {
    const refusal = licenceUnavailable()
    return this.#request.parts.map(() => ({ access: 'none', refusal }))
  }

  async #decideUntilDone(): Promise<void> {
    while (this.#mustDecideAgain && !this.#isClosed) {
      this.#mustDecideAgain = false
      try {
        await this.#decide(false)
      } catch (error) {
        // A place that it waits for.
        if (!(error instanceof Refusal)) this.#env.onError(error)
        this.#mustDecideAgain = true
        await sleep(RETRY_MS, undefined, { ref: false })
      }
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#unregister()
    for (const place of this.#places.values()) place.release()
    this.#places.clear()
  }

  async #decide(isFirst: boolean): Promise<void> {
    const { standings, held } = this.#env
    if (isFirst && !held.isAvailable) throw licenceUnavailable()
    for (;;) {
      const principal = this.#principal
      const { outages } = held
      const reading = standings.read(principal)
      const known = await reading
      const decided = this.#choose(known)
      if (isFirst) await this.#request.approve?.(decided)
      const parts = await this.#holdPlaces(decided, known, principal)
      if (this.#isClosed) return
      // It is decided anew when they can be held again.
      if (!held.isAvailable) return this.#conclude(this.#unavailable())
      const isCurrent = standings.isCurrent(principal, reading) && outages === held.outages
      if (principal !== this.#principal || !isCurrent) continue
      this.#mayDisplace = false
      this.#taker.begun()
      return this.#conclude(parts)
    }
  }

  #conclude(parts: readonly PartAccess[]): void {
    this.#tell(parts)
    this.#hasBegun = true
  }

  /** A place for each product that gives something; where none is left, there is no access. Throws where one may be free shortly. */
  async #holdPlaces(
    decided: readonly PartAccess[],
    known: SubjectStandings,
    principal: Principal,
  ): Promise<readonly PartAccess[]> {
    const { facts, standings } = known
    const { address, way, lingerMs = way === 'query' ? QUERY_LINGER_MS : 0 } = this.#request
    const asked = {
      ...{ principal, address, way, lingerMs, taker: this.#taker, mayDisplace: this.#mayDisplace },
      onDisplaced: () => this.#tell(this.parts),
    }
    const before = this.#places
    const places = new Map<string, HeldPlace>()
    const refused = new Map<string, Refusal>()
    const wanted = new Set(decided.flatMap((part) => (part.access === 'none' ? [] : [part.product])))
    for (const name of wanted) {
      const product = standings.get(name)?.product
      if (facts === undefined || product === undefined) continue
      try {
        places.set(name, await this.#env.held.hold({ ...asked, facts, product }, known))
      } catch (error) {
        if (!(error instanceof Refusal) || error.code === 'Licence.Unavailable') {
          for (const place of places.values()) place.release()
          if (error instanceof Refusal) this.#count(error)
          throw error
        }
        refused.set(name, error)
      }
    }
    for (const place of before.values()) place.release()
    this.#places = places
    if (this.#isClosed) {
      for (const place of places.values()) place.release()
      places.clear()
    }
    return decided.map((part) => {
      if (part.access === 'none') return part
      const { product } = part
      const refusal = refused.get(product)
      if (refusal !== undefined) return { access: 'none', refusal }
      const delay = standings.get(product)?.product.delay
      // Where all places are in use, it is delayed.
      if (places.get(product)?.taken.access === 'delayed' && part.access === 'realtime')
        return this.#request.needsRealtime === true || delay === undefined
          ? { access: 'none', refusal: licenceNeeded([product], 'none') }
          : { access: 'delayed', product, delay, missing: 'none' }
      return part
    })
  }

  #tell(decided: readonly PartAccess[]): void {
    const before = this.parts
    const parts = decided.map((part) => this.#withoutDisplaced(part))
    this.parts = parts
    if (this.#isClosed || !this.#hasBegun || before.every((part, index) => isSameAccess(part, parts[index]))) return
    for (const [index, part] of parts.entries())
      if (part.access === 'none' && before[index]?.access !== 'none') this.#count(part.refusal)
    this.#request.onChange(parts)
  }

  /** Another place may have displaced its own since that was decided. */
  #withoutDisplaced(part: PartAccess): PartAccess {
    const refusal = part.access === 'none' ? undefined : this.#places.get(part.product)?.displaced
    return refusal === undefined ? part : { access: 'none', refusal }
  }

  #count({ code, details: { members } }: Refusal): void {
    const products = Array.isArray(members?.Products) ? members.Products : []
    this.#env.metrics.count('gatehouse_licence_refused_total', { product: String(products[0] ?? ''), reason: code })
  }

  #register(): void {
    const key = subjectKey(this.#principal)
    const uses = this.#open.get(key)
    if (uses === undefined) this.#open.set(key, new Set([this]))
    else uses.add(this)
  }

  #unregister(): void {
    const key = subjectKey(this.#principal)
    const uses = this.#open.get(key)
    uses?.delete(this)
    if (uses?.size === 0) this.#open.delete(key)
  }
}

/** The highest access of the products that cover it; of two delays the shorter. */
export function chooseAccess(
  products: readonly string[],
  { standings }: SubjectStandings,
  needsRealtime = false,
): PartAccess {
  let best: { readonly product: string; readonly delay: number } | undefined
  let reason: NeededReason = products.length === 0 ? 'uncovered' : 'none'
  for (const name of products) {
    const standing = standings.get(name)
    if (standing === undefined) continue
    const { product, decision } = standing
    if (decision.access === 'realtime') return { access: 'realtime', product: name }
    const { delay } = product
    if (decision.access === 'delayed' && delay !== undefined && !needsRealtime) {
      if (best === undefined || delay < best.delay) best = { product: name, delay }
    }
    if (reason === 'none' && isMissing(decision.reason)) reason = decision.reason
  }
  return best === undefined
    ? { access: 'none', refusal: licenceNeeded(products, reason) }
    : { ...best, access: 'delayed', missing: reason }
}

/** Of each part the lower access: what is gained waits for its place. */
function lower(before: readonly PartAccess[], after: readonly PartAccess[]): readonly PartAccess[] {
  return after.map((part, index) => {
    const known = before[index]
    return known !== undefined && isAtLeast(part.access, known.access) && part.access !== known.access ? known : part
  })
}

function isSameAccess(one: PartAccess, other: PartAccess | undefined): boolean {
  if (one.access !== other?.access) return false
  return one.access !== 'delayed' || (other.access === 'delayed' && one.delay === other.delay)
}
