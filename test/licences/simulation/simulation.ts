/**
 * A simulation: somebody writes, an operator changes who has what, and readers read by every way. Each value tells when it was committed,
 * so that it is known whether its reader was allowed to see it then.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LicenceServer } from '../licence-server.ts'
import { type TablePlace, tablePlace } from '../tables/table-licences.ts'
import { DEFINED, DEFINED_AFTER } from './declared.ts'
import { FOLLOWERS, type Following, useTool } from './followers.ts'
import { Ledger, PEOPLE, type Person, PRODUCTS, type Values, VENUES } from './ledger.ts'
import { Places } from './places.ts'
import { READS } from './reads.ts'

export type SimulatedServer = Pick<
  LicenceServer,
  'url' | 'port' | 'wirePort' | 'alice' | 'admin' | 'handler' | 'robot' | 'send'
>
export type SimulatedPlace = TablePlace<SimulatedServer>

export interface SimulationOptions {
  readonly servers: readonly SimulatedServer[]
  /** The tokens of assistants. */
  readonly agents: Readonly<Record<Person, string>>
  /** A number below. */
  readonly random: (below: number) => number
  readonly seed: number
  /** Nodes are killed, and lose their database: what fails is tried again. */
  readonly hasFaults?: boolean
}

const LONGEST_MS = 60_000
const KEPT_ROWS = 200

export class Simulation {
  readonly #options: SimulationOptions
  readonly #places: readonly SimulatedPlace[]
  readonly #first: SimulatedPlace
  readonly #tokens: Readonly<Record<Person, string>>
  readonly #random: (below: number) => number
  readonly ledger: Ledger
  readonly places = new Places()
  #isOver = false

  constructor(options: SimulationOptions) {
    this.#options = options
    this.#places = options.servers.map((server) => tablePlace(server))
    const [first] = this.#places
    assert.ok(first)
    this.#first = first
    this.#tokens = { alice: first.server.alice, admin: first.server.admin }
    this.#random = options.random
    this.ledger = new Ledger(options.seed)
  }

  async prepare(): Promise<void> {
    const { admin } = this.#first.server
    for (const text of DEFINED) await this.#first.rows(text, admin)
    for (const venue of Object.keys(VENUES)) await this.#write(`INSERT INTO latest VALUES ('${venue}', 0)`)
    for (const text of DEFINED_AFTER) await this.#first.rows(text, admin)
  }

  /** At least for so long, and until all ways have shown something. */
  async run(milliseconds: number): Promise<void> {
    const work = [
      this.#repeat(() => this.#commit()),
      this.#repeat(() => this.#change()),
      ...PEOPLE.flatMap((person) => [
        ...[0, 1].map(() => this.#repeat(() => this.#read(person))),
        ...FOLLOWERS.map((follow) => this.#repeat(() => follow(this.#following(person)))),
        ...(this.#first.server.wirePort === undefined
          ? []
          : [this.#repeat(() => useTool({ ...this.#following(person), place: this.#first }, person))]),
      ]),
      ...['a', 'b', 'c', 'd'].map((name) => this.#repeat(() => this.places.use(name, this.#anyPlace(), this.#random))),
    ]
    const failed = Promise.all(work).catch((error: unknown) => {
      this.#isOver = true
      throw error
    })
    try {
      const begun = Date.now()
      const isEnough = (): boolean => Date.now() - begun >= milliseconds && this.ledger.checked.size >= READS.length
      const isLate = (): boolean => Date.now() - begun >= milliseconds + LONGEST_MS
      while (!this.#isOver && !isEnough() && !isLate()) await Promise.race([sleep(200), failed])
      this.#isOver = true
      await failed
    } finally {
      this.#isOver = true
      await Promise.allSettled(work)
    }
  }

  async #repeat(step: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      try {
        await step()
      } catch (error) {
        if (this.#options.hasFaults !== true || error instanceof assert.AssertionError) throw error
        await sleep(100)
      }
      await sleep(5 + this.#random(30))
    }
  }

  #anyPlace(): SimulatedPlace {
    return this.#places[this.#random(this.#places.length)] ?? this.#first
  }

  async #write(statement: string): Promise<void> {
    const { status, body } = await this.#first.query(statement, this.#first.server.handler)
    if (status === 200) return
    const text = `${statement}: ${JSON.stringify(body)}`
    if (this.#options.hasFaults === true && status >= 500) throw new Error(text)
    assert.fail(text)
  }

  async #commit(): Promise<void> {
    const venue = Object.keys(VENUES)[this.#random(3)] ?? ''
    const { number, end } = this.ledger.begin(venue)
    const note = this.#random(10) === 0 ? 'n'.repeat(2000) : 'n'
    const tag = `${venue}#${number};`
    await this.#write(`INSERT INTO ticks (id, venue, tag, note) VALUES (${number}, '${venue}', '${tag}', '${note}')`)
    await this.#write(`UPDATE latest SET number = ${number} WHERE venue = '${venue}'`)
    await this.#publish(venue, number)
    if (this.#random(5) === 0) await this.#write(`DELETE FROM ticks WHERE id < ${number - KEPT_ROWS}`)
    end()
    await sleep(this.#random(20))
  }

  async #publish(topic: string, number: number): Promise<void> {
    const { server } = this.#anyPlace()
    const { status, body } = await server.send('POST', `/feeds/Numbers/${topic}`, {
      token: server.handler,
      body: String(number),
    })
    if (this.#options.hasFaults === true && status >= 500) throw new Error(JSON.stringify(body))
    assert.equal(status, 200, JSON.stringify(body))
  }

  async #change(): Promise<void> {
    await sleep(1_000 + this.#random(3_000))
    const person = PEOPLE[this.#random(2)] ?? 'alice'
    const product = PRODUCTS[this.#random(3)] ?? 'A'
    const access = (['none', 'delayed', 'realtime', 'delayed'] as const)[this.#random(4)] ?? 'none'
    const done = this.ledger.change(person, product, access)
    const { status, body } = await this.#first.server.send('PATCH', `/admin/entitlements/${product}:user:${person}`, {
      token: this.#first.server.admin,
      body: { access },
      headers: { 'if-match': '*' },
    })
    if (this.#options.hasFaults === true && status >= 500) throw new Error(JSON.stringify(body))
    assert.equal(status, 200, JSON.stringify(body))
    done()
  }

  async #read(person: Person): Promise<void> {
    const place = this.#anyPlace()
    const [way, read] = READS[this.#random(READS.length)] ?? []
    if (way === undefined || read === undefined) return
    const sent = Date.now()
    const values = await read({ place, token: this.#tokens[person], agent: this.#options.agents[person] })
    this.#check(way, person, values ?? [], sent, place === this.#first)
    if (values === undefined) this.ledger.requireNothing(person, sent)
    else if (way === 'newest') this.ledger.requireAll(person, sent, values)
  }

  #following(person: Person): Following {
    return {
      place: this.#anyPlace(),
      token: this.#tokens[person],
      agent: this.#options.agents[person],
      random: this.#random,
      isOver: () => this.#isOver,
      came: (way, values, sent = Date.now()) => this.#check(way, person, values, sent, false),
    }
  }

  #check(way: string, person: Person, values: Values, sent: number, isThere: boolean): void {
    this.ledger.check({ way, person, isThere, sent, received: Date.now(), values })
  }
}

/** Repeatable. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
