/**
 * A simulation: somebody writes, an operator changes who has what, and readers read by every way. Each value tells when it was committed,
 * so that it is known whether its reader was allowed to see it then.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { texts } from '../../support/wire-session.ts'
import type { LicenceServer } from '../licence-server.ts'
import { type TablePlace, tablePlace } from './table-licences.ts'

type Access = 'none' | 'delayed' | 'realtime'

/** In milliseconds. */
export const DELAYS = { A: 1_000, B: 2_000, C: 1_000 } as const
type Product = keyof typeof DELAYS

/** The products of each venue: any of them opens its rows. */
const VENUES: Readonly<Record<string, readonly Product[]>> = { XA: ['A'], XB: ['B'], XC: ['B', 'C'] }
const PEOPLE = ['alice', 'admin'] as const
type Person = (typeof PEOPLE)[number]

export const SIMULATED = `
products:
${(['A', 'B', 'C'] as const)
  .map((name) => {
    const venues = Object.keys(VENUES).filter((venue) => VENUES[venue]?.includes(name))
    return `  - { name: ${name}, delay: "${DELAYS[name] / 1000} seconds", covers: [${['ticks', 'latest', 'own']
      .map((table) => `{ table: ${table}, column: venue, values: [${venues.join(', ')}] }`)
      .join(', ')}] }`
  })
  .join('\n')}
entitlements:
${PEOPLE.flatMap((user) => (['A', 'B', 'C'] as const).map((product) => `  - { product: ${product}, user: ${user}, access: none }`)).join('\n')}
${(['A', 'B', 'C'] as const).map((product) => `  - { product: ${product}, client: handler, access: realtime, kind: exempt }`).join('\n')}
`

/** When a reader may have had an access: from the request that gave it to the reply to the one that took it. */
interface Period {
  readonly access: Access
  readonly from: number
  /** When it was sure. */
  since: number
  until: number
}

interface Seen {
  readonly way: string
  readonly person: Person
  /** Whether it was asked on the node that answered the operator. */
  readonly isThere: boolean
  readonly sent: number
  readonly received: number
  readonly values: readonly (readonly [venue: string, number: number])[]
}

const ANOTHER_NODE_MS = 1_000
/** After which time what is old enough must be seen, on a busy machine. */
const LATE_MS = 5_000
const LONGEST_MS = 60_000
/** Of the commits of a simulation. */
const NUMBERS = 1_000_000

export class Simulation {
  readonly #places: readonly TablePlace[]
  readonly #tokens: Readonly<Record<Person, string>>
  readonly #random: (below: number) => number
  readonly #periods = new Map<string, Period[]>()
  /** By number: between which times it was committed. */
  readonly #commits: { readonly begun: number; readonly ended: number; readonly venue: string }[] = []
  #isOver = false
  /** Values that were checked, by way. */
  readonly checked = new Map<string, number>()

  /** Numbers up to it are of the simulation before. */
  readonly #base: number

  constructor(servers: readonly LicenceServer[], random: (below: number) => number, seed = 1) {
    this.#base = seed * NUMBERS
    const [first] = servers
    assert.ok(first)
    this.#places = servers.map(tablePlace)
    this.#tokens = { alice: first.alice, admin: first.admin }
    this.#random = random
    for (const person of PEOPLE)
      for (const product of Object.keys(DELAYS))
        this.#periods.set(`${person} ${product}`, [
          { access: 'none', from: 0, since: 0, until: Number.POSITIVE_INFINITY },
        ])
  }

  get #first(): TablePlace {
    const [first] = this.#places
    assert.ok(first)
    return first
  }

  async prepare(): Promise<void> {
    const scopes = "READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Market'"
    const { admin } = this.#first.server
    const define = (text: string) => this.#first.rows(text, admin)
    await define(`CREATE TABLE ticks (id Integer PRIMARY KEY, venue Text NOT NULL, note Text) ${scopes}`)
    await define(`CREATE TABLE latest (venue Text PRIMARY KEY, number Integer NOT NULL) ${scopes}`)
    await define('CREATE INDEX ticks_venue ON ticks (venue, id)')
    await define('CREATE VIEW newest AS SELECT venue, max(id) AS number FROM ticks GROUP BY venue')
    for (const venue of Object.keys(VENUES)) await this.#write(`INSERT INTO latest VALUES ('${venue}', 0)`)
  }

  /** At least for so long, and until most ways have shown something. */
  async run(milliseconds: number): Promise<void> {
    const live = await Promise.all(PEOPLE.map((person) => this.#follow(person)))
    const work = [
      this.#repeat(() => this.#commit()),
      this.#repeat(() => this.#change()),
      ...PEOPLE.flatMap((person) => [0, 1].map(() => this.#repeat(() => this.#read(person)))),
      ...PEOPLE.map((person) => this.#useTool(person)),
    ]
    const failed = Promise.all(work).catch((error: unknown) => {
      this.#isOver = true
      throw error
    })
    try {
      const begun = Date.now()
      const isEnough = (): boolean => Date.now() - begun >= milliseconds && this.checked.size >= READS.length
      while (!this.#isOver && !isEnough() && Date.now() - begun < LONGEST_MS) await Promise.race([sleep(200), failed])
      this.#isOver = true
      await failed
    } finally {
      this.#isOver = true
      await Promise.allSettled(work)
      for (const stop of live) await stop()
    }
  }

  async #repeat(step: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      await step()
      await sleep(5 + this.#random(30))
    }
  }

  async #write(statement: string): Promise<void> {
    await this.#first.rows(statement, this.#first.server.handler)
  }

  async #commit(): Promise<void> {
    const number = this.#base + this.#commits.length + 1
    const venue = Object.keys(VENUES)[this.#random(3)] ?? ''
    const begun = Date.now()
    const commit = { begun, ended: Number.POSITIVE_INFINITY, venue }
    this.#commits.push(commit)
    const note = this.#random(10) === 0 ? 'n'.repeat(2000) : 'n'
    await this.#write(`INSERT INTO ticks (id, venue, note) VALUES (${number}, '${venue}', '${note}')`)
    await this.#write(`UPDATE latest SET number = ${number} WHERE venue = '${venue}'`)
    if (this.#random(5) === 0) await this.#write(`DELETE FROM ticks WHERE id < ${number - 200}`)
    Object.assign(commit, { ended: Date.now() })
    await sleep(this.#random(20))
  }

  async #change(): Promise<void> {
    await sleep(1_000 + this.#random(3_000))
    const person = PEOPLE[this.#random(2)] ?? 'alice'
    const product = (Object.keys(DELAYS) as Product[])[this.#random(3)] ?? 'A'
    const access = (['none', 'delayed', 'realtime', 'delayed'] as const)[this.#random(4)] ?? 'none'
    const periods = this.#periods.get(`${person} ${product}`)
    const from = Date.now()
    const period: Period = { access, from, since: Number.POSITIVE_INFINITY, until: Number.POSITIVE_INFINITY }
    periods?.push(period)
    await this.#first.patch(`/entitlements/${product}:user:${person}`, { access })
    const before = periods?.at(-2)
    period.since = Date.now()
    if (before !== undefined) before.until = period.since
  }

  async #read(person: Person): Promise<void> {
    const at = this.#random(this.#places.length)
    const place = this.#places[at]
    assert.ok(place)
    const token = this.#tokens[person]
    const way = READS[this.#random(READS.length)]
    assert.ok(way)
    const [name, read] = way
    const sent = Date.now()
    const values = await read(place, token)
    this.#check({ way: name, person, isThere: at === 0, sent, received: Date.now(), values: values ?? [] })
    if (values === undefined) this.#requireNothing(person, sent)
    else if (name === 'newest') this.#requireAll(person, sent, values)
  }

  /** A connection of a tool, with a prepared statement and COPY. */
  async #useTool(person: Person): Promise<void> {
    const session = await this.#first.wire(this.#tokens[person], person)
    const values = (answer: Awaited<ReturnType<typeof session.query>>): Seen['values'] =>
      texts(answer).map(([venue, number]) => [String(venue), Number(number)])
    await session.query('PREPARE newest AS SELECT venue, max(id) AS number FROM ticks GROUP BY venue')
    await this.#repeat(async () => {
      const sent = Date.now()
      const common = { person, isThere: true, sent }
      if (this.#random(3) === 0) {
        const { copied } = await session.query('COPY latest TO STDOUT')
        const lines = copied
          .toString()
          .split('\n')
          .filter((line) => line !== '')
        const copies = lines
          .map((line) => line.split('\t'))
          .map(([venue = '', number]) => [venue, Number(number)] as const)
        return this.#check({ ...common, way: 'copy', received: Date.now(), values: copies })
      }
      const answer = await session.query('EXECUTE newest')
      return this.#check({ ...common, way: 'prepared', received: Date.now(), values: values(answer) })
    })
    session.close()
  }

  /** A live query, which begins again when it has ended. */
  async #follow(person: Person): Promise<() => Promise<void>> {
    let isStopped = false
    const following = (async () => {
      while (!isStopped) {
        const live = await this.#first.live('SELECT venue, number FROM latest', this.#tokens[person])
        if (live.status !== 200) {
          live.close()
          await sleep(50)
          continue
        }
        for (;;) {
          const event = await Promise.race([live.next().catch(() => undefined), sleep(500, 'idle')])
          if (isStopped || event === undefined || (typeof event === 'object' && event.event === 'end')) break
          if (typeof event !== 'object') continue
          const put = Array.isArray(event.data.Put) ? event.data.Put : []
          const values = put.map(({ Row }) => [String(Row[0] ?? Row.venue), Number(Row[1] ?? Row.number)] as const)
          const received = Date.now()
          this.#check({ way: 'live', person, isThere: false, sent: received, received, values })
        }
        live.close()
      }
    })()
    return async () => {
      isStopped = true
      await following
    }
  }

  #check({ way, person, isThere, sent, received, values }: Seen): void {
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
      const age = `${received - commit.begun} ms after its commit began`
      assert.ok(isAllowed, `${way}: ${person} has seen ${number} of ${venue} ${age}: ${this.#describe(person, venue)}`)
      this.checked.set(way, (this.checked.get(way) ?? 0) + 1)
    }
  }

  #describe(person: Person, venue: string): string {
    const now = Date.now()
    return (VENUES[venue] ?? [])
      .map((product) => {
        const periods = this.#periods.get(`${person} ${product}`) ?? []
        return `${product} ${periods.slice(-3).map(({ access, from }) => `${access} ${from - now}`)}`
      })
      .join(', ')
  }

  /** Who is refused has nothing, or has lost something meanwhile. */
  #requireNothing(person: Person, sent: number): void {
    const all = Object.keys(DELAYS).map((product) => this.#periods.get(`${person} ${product}`)?.at(-1))
    if (all.some((last) => last === undefined || last.since > sent - ANOTHER_NODE_MS)) return
    assert.ok(
      all.every((last) => last?.access === 'none'),
      `${person} is refused`,
    )
  }

  /** The access, if it was one for long; otherwise none. */
  #constant(person: Person, product: string, sent: number): Access {
    const periods = this.#periods.get(`${person} ${product}`) ?? []
    const last = periods.at(-1)
    return last === undefined || last.since > sent - ANOTHER_NODE_MS ? 'none' : last.access
  }

  /** What is old enough is there. */
  #requireAll(person: Person, sent: number, values: Seen['values']): void {
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

type Read = (place: TablePlace, token: string) => Promise<Seen['values'] | undefined>

/** Undefined where it is refused. */
async function rowsOf(place: TablePlace, token: string, statement: string): Promise<Seen['values'] | undefined> {
  const { status, body } = await place.query(statement, token)
  if (status === 403) return undefined
  if (status === 503) return []
  assert.equal(status, 200, JSON.stringify(body))
  return body.Rows
}

async function lines(place: TablePlace, token: string, accept: string): Promise<string[] | undefined> {
  const reply = await fetch(`${place.server.url}/query?rows=arrays`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, accept, 'content-type': 'application/json' },
    body: JSON.stringify({ Statement: 'SELECT venue, id FROM ticks' }),
  })
  const text = await reply.text()
  if (reply.status === 403) return undefined
  return reply.status === 200 ? text.split(/\r?\n/).filter((line) => line !== '') : []
}

const READS: readonly (readonly [way: string, read: Read])[] = [
  ['newest', (place, token) => rowsOf(place, token, 'SELECT venue, max(id) AS number FROM ticks GROUP BY venue')],
  ['view', (place, token) => rowsOf(place, token, 'SELECT venue, number FROM newest')],
  ['latest', (place, token) => rowsOf(place, token, 'SELECT venue, number FROM latest')],
  ['rows', (place, token) => rowsOf(place, token, 'SELECT venue, id FROM ticks ORDER BY id DESC LIMIT 20')],
  [
    'join',
    (place, token) =>
      rowsOf(
        place,
        token,
        'SELECT l.venue, l.number FROM latest l JOIN ticks t ON t.venue = l.venue AND t.id = l.number',
      ),
  ],
  [
    'nested',
    (place, token) =>
      rowsOf(
        place,
        token,
        "SELECT 'XA' AS venue, coalesce((SELECT max(id) FROM ticks WHERE venue = 'XA'), 0) AS id FROM latest LIMIT 1",
      ),
  ],
  ['by key', (place, token) => rowsOf(place, token, "SELECT venue, number FROM latest WHERE venue = 'XB'")],
  [
    'select',
    async (place, token) => {
      const { status, body } = await place.server.send('POST', '/Query/latest/Select?rows=arrays', { token, body: [] })
      if (status === 403) return undefined
      return status === 503 ? [] : body.Rows
    },
  ],
  [
    'csv',
    async (place, token) => {
      const found = await lines(place, token, 'text/csv')
      return found
        ?.slice(1)
        .map((line) => line.split(','))
        .map(([venue = '', id]) => [venue, Number(id)])
    },
  ],
  [
    'ndjson',
    async (place, token) => {
      const found = await lines(place, token, 'application/x-ndjson')
      return found?.map((line): unknown => JSON.parse(line)).filter(isPair)
    },
  ],
]

function isPair(value: unknown): value is readonly [string, number] {
  return Array.isArray(value) && value.length === 2
}
