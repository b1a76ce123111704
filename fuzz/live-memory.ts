/**
 * One user fills the memory for live results: `node fuzz/live-memory.ts [engine] [seconds] [live bytes]`. Two statements take nearly all
 * of it and are not read; then both are asked for again whenever they end. Prints what others notice, and the memory of the server:
 * the 99th percentiles should be at most twice those without load, and no other user's subscription ends or starts over.
 */
import assert from 'node:assert/strict'
import { type ClientRequest, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Crowd } from '../test/query/live/crowd.ts'
import { ModelClient, openEvents, openStream, type Transport } from '../test/query/live/model-client.ts'
import { ALICE, signIn } from '../test/support/demo-user.ts'
import { openPlace } from '../test/support/engines.ts'
import { stopOwnPostgres } from '../test/support/postgres.ts'
import { until } from '../test/support/until.ts'

const [engine = 'sqlite', seconds = '10', bytes = '268435456'] = process.argv.slice(2)
const PHASE_MS = Number(seconds) * 1000
const LIVE_BYTES = Number(bytes)
/** The rows of `ticks`. */
const ROWS = 200
const CHANGE_MS = 50
const PATIENCE_MS = 30_000

const { place, leave } = await openPlace(engine === 'postgres' ? 'postgres' : 'sqlite')
const crowd = await Crowd.open(place, { 'live-bytes': String(LIVE_BYTES) })
const { pid } = crowd.server.child
const alice = (await signIn(crowd.server, ALICE)).access_token

const STATEMENT = { parameters: {}, user: 'admin', tables: [], method: 'keys', isOrdered: false } as const

/** Follows one row on each transport, and knows when a change has arrived. */
class Other {
  readonly client: ModelClient
  #arrived: () => void = () => {}
  #price = Number.NaN

  constructor(n: number) {
    const text = `SELECT price, ${n} AS n FROM ticks WHERE id = 5`
    this.client = new ModelClient({ ...STATEMENT, text }, 50, ({ text: held }) => {
      if (held.includes(`"price":${this.#price},`)) this.#arrived()
    })
  }

  arrives(price: number): Promise<void> {
    this.#price = price
    return new Promise((resolve) => {
      this.#arrived = resolve
    })
  }

  check(): void {
    const { ended, failure, applier } = this.client
    if (failure !== undefined) throw failure
    assert.equal(ended, undefined)
    assert.equal(applier.seen.Reset, 0)
  }
}

const transports: Transport[] = []
const others: Other[] = []

async function follow(): Promise<void> {
  const other = new Other(others.length)
  others.push(other)
  await subscribe(other.client)
}

async function subscribe(client: ModelClient): Promise<void> {
  const options = { port: crowd.server.port, token: crowd.token }
  const transport = transports.length % 2 === 0 ? await openStream('PlatformJson', options) : openEvents(options)
  transports.push(transport)
  await transport.subscribe(client)
  await until('it has a state', PATIENCE_MS, () => {
    assert.equal(client.ended, undefined)
    return client.applier.isWhole && client.applier.seen.pieces > 0
  })
}

/** Somebody who comes when the memory is full, and wants a hundredth of it. */
async function subscribeLate(n: number): Promise<void> {
  const text = `SELECT id, ${n} AS n, rpad('b', ${Math.floor(LIVE_BYTES / ROWS / 50)}, 'z') AS t FROM ticks WHERE id >= ${ROWS / 2}`
  await subscribe(new ModelClient({ ...STATEMENT, text }, 50, () => {}))
}

let price = 1000

/** The times from a commit to its arrival while other work is running. */
async function deliveries(isOver: () => boolean): Promise<number[]> {
  const times: number[] = []
  while (!isOver()) {
    const value = price++
    const arrived = Promise.all(others.map((other) => other.arrives(value)))
    await crowd.query(`UPDATE ticks SET price = ${value} WHERE id = 5`)
    const began = performance.now()
    await Promise.race([arrived, sleep(PATIENCE_MS, undefined, { ref: false })])
    times.push(performance.now() - began)
    for (const other of others) other.check()
    await sleep(CHANGE_MS)
  }
  return times
}

interface Figures {
  readonly lookup: number
  readonly delivery: number
}

let alone: Figures | undefined

async function phase(name: string, work: () => Promise<unknown> = async () => {}): Promise<void> {
  let isOver = false
  let [least, most] = [Number.POSITIVE_INFINITY, 0]
  const memory = setInterval(() => {
    least = Math.min(least, crowd.residentMiB)
    most = Math.max(most, crowd.residentMiB)
  }, 100)
  const delivered = deliveries(() => isOver)
  const lookups = await crowd.timesBeside(Promise.all([sleep(PHASE_MS), work()]))
  isOver = true
  const times = (await delivered).sort((a, b) => a - b)
  clearInterval(memory)
  const figures = { lookup: lookups.p99, delivery: times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN }
  alone ??= figures
  const shown = (kind: keyof Figures): string =>
    `${kind} p99 ${figures[kind].toFixed(1)} ms (${(figures[kind] / (alone?.[kind] ?? 1)).toFixed(1)} × alone)`
  const held = (await crowd.metric('gatehouse_live_bytes')) / 2 ** 20
  console.log(
    `${name}: ${shown('lookup')}, ${shown('delivery')}; ${least} to ${most} MiB resident, ${held.toFixed(0)} MiB of live results`,
  )
  assert.ok(held <= LIVE_BYTES / 2 ** 20)
}

/** A statement whose result takes nearly half of the memory, asked for over a connection that is not read. */
function ask(n: number, onEnd: (status: string) => void): ClientRequest {
  const length = Math.floor((0.495 * LIVE_BYTES) / ROWS)
  const asked = request({
    host: '127.0.0.1',
    port: crowd.server.port,
    path: '/query',
    method: 'POST',
    headers: { accept: 'text/event-stream', authorization: `Bearer ${alice}`, 'content-type': 'text/plain' },
    agent: false,
  })
  asked.on('response', (response) => {
    if (response.statusCode === 200) response.pause()
    else response.resume()
    response.on('close', () => onEnd(String(response.statusCode)))
    response.on('error', () => {})
  })
  asked.on('error', () => onEnd('cut'))
  asked.end(`SELECT t.id, ${n} AS n, rpad('a', ${length}, 'y') AS t FROM ticks t WHERE t.id < 1000000`)
  return asked
}

try {
  for (let n = 0; n < 4; n++) await follow()
  await phase('alone')
  const answers = new Map<string, number>()
  const count = (status: string): void => void answers.set(status, (answers.get(status) ?? 0) + 1)
  const first = [ask(1, count), ask(2, count)]
  await phase('two statements that are not read', async () => {
    await sleep(PHASE_MS / 2)
    for (let n = 0; n < 9; n++) await subscribeLate(n)
  })
  for (const asked of first) asked.destroy()
  let isOver = false
  let open: ClientRequest[] = []
  const again = (n: number): void => {
    if (isOver) return
    // A client that was cut off, or refused, comes back at once.
    open[n] = ask(n, (status) => {
      count(status)
      setTimeout(() => again(n), 100)
    })
  }
  again(0)
  again(1)
  const change = setInterval(() => open[Math.floor(Math.random() * 2)]?.destroy(), 3000)
  await phase('asked for again and again')
  clearInterval(change)
  isOver = true
  for (const asked of open) asked.destroy()
  open = []
  console.log(`answers to the two: ${JSON.stringify([...answers])}`)
  await phase('afterwards')
  assert.equal(crowd.server.child.pid, pid)
  assert.equal(crowd.server.child.exitCode, null)
} finally {
  for (const transport of transports) transport.close()
  await crowd.close()
  await leave()
  await stopOwnPostgres()
}
