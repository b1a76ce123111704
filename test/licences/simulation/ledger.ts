/** What was committed when, who was given what when, and so whether a reader was allowed to see a value, or had to. */
import assert from 'node:assert/strict'

export type Access = 'none' | 'delayed' | 'realtime'

/** In milliseconds. */
export const DELAYS = { A: 1_000, B: 2_000, C: 1_000 } as const
export type Product = keyof typeof DELAYS
export const PRODUCTS = ['A', 'B', 'C'] as const

/** The products of each venue: any of them opens its rows, and its messages. */
export const VENUES: Readonly<Record<string, readonly Product[]>> = { XA: ['A'], XB: ['B'], XC: ['B', 'C'] }
export const PEOPLE = ['alice', 'admin'] as const
export type Person = (typeof PEOPLE)[number]

/** The numbers of commits, by venue. */
export type Values = readonly (readonly [venue: string, number: number])[]

export interface Seen {
  readonly way: string
  readonly person: Person
  /** Whether it was asked on the node that answered the operator. */
  readonly isThere: boolean
  readonly sent: number
  readonly received: number
  readonly values: Values
}

/** When a reader may have had an access: from the request that gave it to the reply to the one that took it. */
interface Period {
  readonly access: Access
  readonly from: number
  /** When it was sure; infinite if the reply was lost. */
  since: number
  until: number
}

interface Commit {
  readonly begun: number
  readonly venue: string
  /** Infinite if that is not known. */
  ended: number
}

const ANOTHER_NODE_MS = 1_000
/** After which time what is old enough must be seen, on a busy machine. */
const LATE_MS = 5_000
/** How long after a fault that is not asked for. */
const CALM_MS = 30_000
/** Of the commits of a simulation. */
const NUMBERS = 1_000_000
const NEVER = Number.POSITIVE_INFINITY

export class Ledger {
  readonly #periods = new Map<string, Period[]>()
  /** By number. */
  readonly #commits: Commit[] = []
  /** Numbers up to it are of the simulation before. */
  readonly #base: number
  /** Values that were checked, by way. */
  readonly checked = new Map<string, number>()
  faultAt = Number.NEGATIVE_INFINITY

  constructor(seed: number) {
    this.#base = seed * NUMBERS
    for (const person of PEOPLE)
      for (const product of PRODUCTS)
        this.#periods.set(`${person} ${product}`, [{ access: 'none', from: 0, since: 0, until: NEVER }])
  }

  get commits(): number {
    return this.#commits.length
  }

  /** The number of a commit that begins now, and what to call when it is over. */
  begin(venue: string): { readonly number: number; readonly end: () => void } {
    const commit: Commit = { begun: Date.now(), venue, ended: NEVER }
    this.#commits.push(commit)
    return {
      number: this.#base + this.#commits.length,
      end: () => {
        commit.ended = Date.now()
      },
    }
  }

  /** Before the access is changed. Returns what to call after the reply. */
  change(person: Person, product: Product, access: Access): () => void {
    const periods = this.#periods.get(`${person} ${product}`) ?? []
    const period: Period = { access, from: Date.now(), since: NEVER, until: NEVER }
    periods.push(period)
    return () => {
      period.since = Date.now()
      for (const before of periods) if (before !== period) before.until = Math.min(before.until, period.since)
    }
  }

  check({ way, person, isThere, sent, received, values }: Seen): void {
    for (const [venue, number] of values) {
      if (number <= this.#base) continue
      const commit = this.#commits[number - this.#base - 1]
      assert.equal(commit?.venue, venue, `${way}: ${venue} ${number}`)
      const since = isThere ? sent : sent - ANOTHER_NODE_MS
      const isAllowed = VENUES[venue]?.some((product) =>
        this.#periods.get(`${person} ${product}`)?.some(({ access, from, until }) => {
          if (until < since || from > received || access === 'none') return false
          return access === 'realtime' || received >= commit.begun + DELAYS[product]
        }),
      )
      const age = `${received - commit.begun} ms after its commit began, asked ${received - sent} ms before`
      assert.ok(isAllowed, `${way}: ${person} has seen ${number} of ${venue} ${age}: ${this.#describe(person, venue)}`)
      this.checked.set(way, (this.checked.get(way) ?? 0) + 1)
    }
  }

  #describe(person: Person, venue: string): string {
    const now = Date.now()
    return (VENUES[venue] ?? [])
      .map((product) => {
        const periods = this.#periods.get(`${person} ${product}`) ?? []
        return `${product} ${periods.slice(-3).map(({ access, from, since }) => `${access} ${from - now} to ${since - now}`)}`
      })
      .join(', ')
  }

  /** Who is refused has nothing, or has lost something meanwhile; a node without its database decides by what it last knew. */
  requireNothing(person: Person, sent: number): void {
    const since = sent - (this.faultAt > sent - CALM_MS ? CALM_MS : ANOTHER_NODE_MS)
    const all = PRODUCTS.map((product) => this.#periods.get(`${person} ${product}`) ?? [])
    if (all.some((periods) => (periods.at(-1)?.since ?? NEVER) > sent - ANOTHER_NODE_MS)) return
    assert.ok(
      all.every((periods) => periods.some(({ access, until }) => access === 'none' && until > since)),
      `${person} is refused: ${Object.keys(VENUES).map((venue) => this.#describe(person, venue))}`,
    )
  }

  /** The access, if it was one for long; otherwise none. */
  #constant(person: Person, product: Product, sent: number): Access {
    const last = this.#periods.get(`${person} ${product}`)?.at(-1)
    return last === undefined || last.since > sent - ANOTHER_NODE_MS ? 'none' : last.access
  }

  /** What is old enough is there. */
  requireAll(person: Person, sent: number, values: Values): void {
    if (this.faultAt > sent - CALM_MS) return
    for (const [venue, products] of Object.entries(VENUES)) {
      const delays = products.flatMap((product) => {
        const access = this.#constant(person, product, sent)
        return access === 'none' ? [] : [access === 'realtime' ? 0 : DELAYS[product] + LATE_MS]
      })
      if (delays.length === 0) continue
      const before = sent - Math.min(...delays)
      const last = this.#commits.findLastIndex((commit) => commit.venue === venue && commit.ended < before)
      const wanted = last === -1 ? 0 : this.#base + last + 1
      const found = values.find(([name]) => name === venue)?.[1] ?? 0
      assert.ok(found >= wanted, `${person} has seen ${found} of ${venue}, not ${wanted}`)
    }
  }
}
