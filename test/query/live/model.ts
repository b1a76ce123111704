/**
 * The model of live queries: random commits against random live statements over the real transports. At each position that a
 * client is sent it must hold exactly what a query returned there.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeriveKey } from '../../../packages/server/src/query/live/position.ts'
import type { TestPlace } from '../../support/engines.ts'
import { Choice } from '../agree/choice.ts'
import { type Held, ModelClient, openEvents, openStream, readText, type Transport } from './model-client.ts'
import { type Ledger, openLedger } from './model-ledger.ts'
import {
  DEFINITIONS,
  LOGGED,
  type ModelStatement,
  makeForeign,
  makeStatement,
  makeWrite,
  UNLOGGED,
} from './model-statements.ts'

export interface ModelNode {
  readonly port: number
}

export interface ModelOptions {
  readonly place: TestPlace
  /** All of one database. */
  readonly nodes: readonly ModelNode[]
  readonly tokens: Readonly<Record<ModelStatement['user'], string>>
  /** That of the nodes. */
  readonly deriveKey: DeriveKey
  readonly seed: number
  /** The clients at once, about. */
  readonly clients: number
}

export interface ModelReport {
  commits: number
  writes: number
  refused: number
  /** States that were compared with the result at their position, by method. */
  readonly checked: Record<ModelStatement['method'], number>
  /** States in the middle of commits that came together: only what always holds was checked. */
  between: number
  readonly answers: { recovered: number; reset: number }
  readonly reasons: Record<string, number>
  readonly transports: Record<string, number>
}

/** A state that a client was sent, compared when the step is recorded. */
interface Observation {
  readonly client: ModelClient
  readonly position: string
  readonly text: string
  /** A client that reconnected may be sent an earlier state than before. */
  readonly life: number
}

const RATES = [1, 5, 20, 50, 50] as const
const QUIET_MS = 60_000
const BODY = 200_000

export class LiveModel {
  readonly report: ModelReport = {
    commits: 0,
    writes: 0,
    refused: 0,
    checked: { keys: 0, rerun: 0, clock: 0 },
    between: 0,
    answers: { recovered: 0, reset: 0 },
    reasons: {},
    transports: {},
  }
  readonly #options: ModelOptions
  readonly #choice: Choice
  readonly #ledger: Ledger
  readonly #transports = new Set<Transport>()
  readonly #paused = new Set<Transport>()
  /** The results by statement, each with the step at which it began. */
  readonly #expected = new Map<string, { readonly step: number; readonly text: string }[]>()
  readonly #statements = new Map<string, ModelStatement>()
  readonly #lives = new WeakMap<ModelClient, number>()
  #observations: Observation[] = []
  #release: (() => Promise<void>) | undefined
  #held = 0

  private constructor(options: ModelOptions, ledger: Ledger) {
    this.#options = options
    this.#choice = new Choice(options.seed)
    this.#ledger = ledger
  }

  static async open(options: ModelOptions): Promise<LiveModel> {
    const [node] = options.nodes
    assert.ok(node !== undefined)
    for (const definition of DEFINITIONS) {
      const reply = await post(node, options.tokens.admin, definition)
      assert.equal(reply.status, 200, reply.text)
    }
    const model = new LiveModel(options, await openLedger(options.place, LOGGED, options.deriveKey))
    await model.#record('several')
    return model
  }

  /** One step: some commits, what they must lead to, and something that happens to the clients. */
  async step(): Promise<void> {
    await this.#record(await this.#commit())
    await this.#disturb()
    if (this.#choice.oneIn(3)) await sleep(this.#choice.below(25))
  }

  async #commit(): Promise<'one' | 'several'> {
    const choice = this.#choice
    this.report.commits++
    switch (choice.below(8)) {
      case 0: {
        const end = choice.oneIn(3) ? 'ROLLBACK' : 'COMMIT'
        await this.#ledger.write(makeForeign(choice, this.#ledger.schema), end)
        return 'one'
      }
      case 1: {
        // Concurrent writers, on every node and directly on the database.
        const writes = choice.list(2, 7, () => this.#write())
        writes.push(this.#ledger.write(makeForeign(choice, this.#ledger.schema), 'COMMIT').then(() => {}))
        await Promise.all(writes)
        return 'several'
      }
      case 2: {
        // A transaction that commits after later ones.
        if (this.#release !== undefined) {
          await this.#release()
          this.#release = undefined
          return 'one'
        }
        const { schema } = this.#ledger
        const id = 1000 + this.#held++
        this.#release = await this.#ledger.hold([`INSERT INTO ${schema}t (id, g, n) VALUES (${id}, 'A', 1)`])
        await this.#write()
        return 'one'
      }
      default:
        await this.#write()
        return 'one'
    }
  }

  async #write(): Promise<void> {
    const { nodes, tokens } = this.#options
    const statement = makeWrite(this.#choice)
    const { status, text } = await post(this.#choice.of(nodes), tokens.admin, statement)
    this.report.writes++
    if (status === 409) this.report.refused++
    else assert.equal(status, 200, `${statement}: ${text}`)
  }

  /** Records what each statement returns now, and compares it with what the clients were sent before. */
  async #record(commits: 'one' | 'several'): Promise<void> {
    // Those that arrive from here on may be of the next step.
    const observations = this.#observations
    this.#observations = []
    const changed = await this.#ledger.record(commits)
    const { step } = this.#ledger
    for (const [key, statement] of this.#statements) {
      if (!statement.tables.some((table) => changed.has(table) || table === 'f')) continue
      await this.#evaluate(key, statement, step)
    }
    for (const observation of observations) this.#compare(observation)
  }

  async #evaluate(key: string, statement: ModelStatement, step: number): Promise<void> {
    const { nodes, tokens } = this.#options
    const body = JSON.stringify({ Statement: statement.text, Parameters: statement.parameters })
    const reply = await post(this.#choice.of(nodes), tokens[statement.user], body, 'application/json')
    assert.equal(reply.status, 200, `${statement.text}: ${reply.text}`)
    const text = readText(JSON.parse(reply.text).Rows, statement.isOrdered)
    const known = this.#expected.get(key) ?? []
    if (known.at(-1)?.text !== text) known.push({ step, text })
    this.#expected.set(key, known)
  }

  #compare({ client, position, text, life }: Observation): void {
    const { statement } = client
    if (statement === UNLOGGED) return
    const step = this.#ledger.buildStep(statement.tables, position)
    if (step === 'between') {
      this.report.between++
      return
    }
    if (life === this.#lives.get(client)) {
      assert.ok(step >= client.step, `${statement.text}: step ${step} after ${client.step}`)
      client.step = step
    }
    const known = this.#expected.get(rowKey(statement)) ?? []
    // The tables may have been as they were at the first result for some steps before it.
    const wanted = known.findLast((entry) => entry.step <= step) ?? known[0]
    assert.ok(wanted !== undefined)
    assert.equal(text, wanted.text, `${shown(statement)} at step ${step} of ${this.#ledger.step}`)
    this.report.checked[statement.method]++
  }

  /** Clients come and go, come back, and stop reading. */
  async #disturb(): Promise<void> {
    const choice = this.#choice
    const clients = this.#clients()
    if (clients.length < this.#options.clients) await this.subscribe()
    const transport = this.#transports.size === 0 ? undefined : choice.of([...this.#transports])
    if (transport === undefined) return
    switch (choice.below(10)) {
      case 0:
      case 1:
        await this.#reconnect(transport, 'lost')
        return
      case 2:
        await this.#reconnect(transport, 'unsubscribed')
        return
      case 3:
        transport.pause()
        this.#paused.add(transport)
        return
      case 4:
      case 5:
        this.#resumeReading()
        return
      case 6:
        if (clients.length >= this.#options.clients) this.#leave(transport)
        return
      default:
    }
  }

  #resumeReading(): void {
    for (const transport of this.#paused) transport.resume()
    this.#paused.clear()
  }

  #leave(transport: Transport): void {
    this.#note(transport)
    transport.close()
    this.#transports.delete(transport)
    this.#paused.delete(transport)
  }

  /** Its clients reconnect with a position that they received, the last one or an earlier one, possibly on another node. */
  async #reconnect(transport: Transport, way: 'lost' | 'unsubscribed'): Promise<void> {
    const choice = this.#choice
    const clients = [...transport.clients]
    if (way === 'lost') this.#leave(transport)
    else for (const client of clients) transport.unsubscribe(client)
    if (transport.isClosed) this.#transports.delete(transport)
    for (const client of clients) {
      this.#checkAlive(client)
      const last = client.kept.at(-1)
      const resume = last === undefined || choice.oneIn(8) ? undefined : choice.oneIn(3) ? choice.of(client.kept) : last
      await this.#open(client, resume)
    }
  }

  async subscribe(statement?: ModelStatement): Promise<ModelClient> {
    const choice = this.#choice
    const chosen =
      statement ??
      // Of a table without a log, a node sees only its own commits.
      (this.#options.nodes.length === 1 && choice.oneIn(20)
        ? UNLOGGED
        : choice.oneIn(3)
          ? choice.of(this.#known(choice))
          : makeStatement(choice))
    const key = rowKey(chosen)
    if (!this.#statements.has(key)) {
      this.#statements.set(key, chosen)
      await this.#evaluate(key, chosen, this.#ledger.step)
    }
    // The same object for the same statement.
    const same = this.#statements.get(key) ?? chosen
    const client = new ModelClient(same, choice.of(RATES), (told) => this.#observe(told))
    await this.#open(client, undefined)
    return client
  }

  #known(choice: Choice): readonly ModelStatement[] {
    return this.#statements.size === 0 ? [makeStatement(choice)] : [...this.#statements.values()]
  }

  async #open(client: ModelClient, resume: Held | undefined): Promise<void> {
    const { nodes, tokens } = this.#options
    const choice = this.#choice
    this.#lives.set(client, (this.#lives.get(client) ?? 0) + 1)
    const { user } = client.statement
    const open = [...this.#transports].filter(
      (transport) => transport.kind !== 'events' && !transport.isClosed && this.#users.get(transport) === user,
    )
    const isShared = open.length > 0 && choice.oneIn(2)
    const options = { port: choice.of(nodes).port, token: tokens[user] }
    const transport = isShared
      ? choice.of(open)
      : choice.oneIn(3)
        ? openEvents(options)
        : await openStream(choice.of(['PlatformJson', 'PlatformMsgPack'] as const), options)
    this.#transports.add(transport)
    this.#users.set(transport, user)
    this.report.transports[transport.kind] = (this.report.transports[transport.kind] ?? 0) + 1
    await transport.subscribe(client, resume)
  }

  readonly #users = new WeakMap<Transport, ModelStatement['user']>()

  #observe(client: ModelClient): void {
    const { applier, statement, text } = client
    assert.ok(!client.hasExpired || mayExpire(statement), `${statement.text} could have been resumed`)
    if (statement.invariant !== undefined)
      assert.ok(statement.invariant(applier.rows as Record<string, unknown>[]), `${statement.text} holds ${text}`)
    const position = applier.position ?? ''
    this.#observations.push({ client, position, text, life: this.#lives.get(client) ?? 0 })
  }

  #clients(): ModelClient[] {
    return [...this.#transports].flatMap((transport) => [...transport.clients])
  }

  #checkAlive(client: ModelClient): void {
    if (client.failure !== undefined) throw client.failure
    assert.equal(client.ended, undefined, client.statement.text)
  }

  /** Everybody reads, and holds the last state in the end. */
  async settle(): Promise<void> {
    await this.#release?.()
    this.#release = undefined
    this.#resumeReading()
    await this.#record('one')
    const end = Date.now() + QUIET_MS
    for (const client of this.#clients()) {
      const wanted = this.#expected.get(rowKey(client.statement))?.at(-1)?.text
      while (!client.applier.isWhole || client.text !== wanted) {
        this.#checkAlive(client)
        assert.ok(Date.now() < end, `${shown(client.statement)} holds\n${client.text}\ninstead of\n${wanted}`)
        await sleep(5)
      }
    }
    await this.#record('one')
    for (const client of this.#clients()) this.#checkAlive(client)
  }

  /** Clients that do not read while more is sent than the buffers hold: they skip states, or start over. */
  async flood(): Promise<void> {
    const { nodes, tokens } = this.#options
    const [node] = nodes
    assert.ok(node !== undefined)
    const send = async (text: string) => {
      const reply = await post(node, tokens.admin, text)
      assert.equal(reply.status, 200, reply.text)
    }
    await send('CREATE TABLE IF NOT EXISTS big (id Integer PRIMARY KEY, body Text NOT NULL)')
    await send("INSERT INTO big VALUES (0, ''), (1, ''), (2, '')")
    const clients: ModelClient[] = []
    for (const open of [
      () => openStream('PlatformJson', { port: node.port, token: tokens.admin }),
      () => openStream('PlatformMsgPack', { port: node.port, token: tokens.admin }),
      async () => openEvents({ port: node.port, token: tokens.admin }),
    ]) {
      const client = new ModelClient(BIG, 50, () => {})
      const transport = await open()
      this.#transports.add(transport)
      this.#users.set(transport, 'admin')
      this.#paused.add(transport)
      await transport.subscribe(client)
      transport.pause()
      clients.push(client)
    }
    for (let round = 0; round < 40; round++) {
      const body = `repeat('${this.#choice.below(1e9)} ', ${BODY / 10})`
      await send(`UPDATE big SET body = ${body} WHERE id = ${round % 3}`)
    }
    this.#resumeReading()
    const end = Date.now() + QUIET_MS
    const wanted = JSON.parse((await post(node, tokens.admin, BIG.text)).text).Rows
    for (const client of clients) {
      while (!client.applier.isWhole || client.text !== readText(wanted, false)) {
        this.#checkAlive(client)
        assert.ok(Date.now() < end, 'a client that reads again holds the last state')
        await sleep(5)
      }
      assert.ok(client.applier.seen.pieces < 100)
    }
    for (const transport of [...this.#transports])
      if (clients.some((client) => transport.clients.has(client))) this.#leave(transport)
    await send('DELETE FROM big ALL')
  }

  /** All clients are gone, as if their node were; they come back with what they hold. */
  async replaceNodes(replace: () => Promise<readonly ModelNode[]>): Promise<void> {
    await this.#release?.()
    this.#release = undefined
    const transports = [...this.#transports]
    const clients = transports.map((transport) => [...transport.clients])
    for (const transport of transports) this.#leave(transport)
    const nodes = await replace()
    Object.assign(this.#options, { nodes })
    await this.#record('one')
    for (const client of clients.flat()) await this.#open(client, client.kept.at(-1))
  }

  #note(transport: Transport): void {
    for (const client of transport.clients) {
      for (const reason of client.applier.reasons.splice(0))
        this.report.reasons[reason] = (this.report.reasons[reason] ?? 0) + 1
      this.report.answers.recovered += client.answers.recovered
      this.report.answers.reset += client.answers.reset
      client.answers.recovered = 0
      client.answers.reset = 0
    }
  }

  async close(): Promise<void> {
    for (const transport of [...this.#transports]) this.#leave(transport)
    await this.#release?.().catch(() => {})
    await this.#ledger.close()
  }
}

const BIG: ModelStatement = {
  text: 'SELECT id, body FROM big',
  parameters: {},
  user: 'admin',
  tables: ['big'],
  method: 'keys',
  isOrdered: false,
}

function rowKey({ text, parameters, user }: ModelStatement): string {
  return JSON.stringify([text, parameters, user])
}

function shown({ text, parameters, user }: ModelStatement): string {
  return `${text} ${JSON.stringify(parameters)} as ${user}`
}

async function post(
  { port }: ModelNode,
  token: string,
  body: string,
  type = 'text/plain; charset=utf-8',
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': type }
  const response = await fetch(`http://127.0.0.1:${port}/query`, { method: 'POST', headers, body })
  return { status: response.status, text: await response.text() }
}

/** Every node knows the rows as they were, but not of tables without a key or a log. */
function mayExpire({ method, tables }: ModelStatement): boolean {
  return method === 'clock' || tables.some((table) => table === 'p' || table === 'f')
}
