/** Applications that use a server while its nodes are replaced: plain requests that are never repeated, and the client library. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type * as library from '../../packages/client/src/index.ts'
import { ADMIN } from './demo-user.ts'

export interface LoadOptions {
  /** Of the balancer, which is the issuer too. */
  readonly address: string
  /** The client library of the version that is upgraded from: applications are not upgraded together with the server. */
  readonly library: typeof library
  /** What the nodes publish: the version of the node and a count. */
  readonly ticks: { readonly controller: string; readonly topic: string }
}

export interface Tick {
  readonly Node: string
  readonly Count: number
}

export interface FailedRequest {
  readonly what: string
  /** Undefined where there was no answer. */
  readonly status: number | undefined
  readonly text: string
  /** Milliseconds. */
  readonly at: number
}

export interface Load {
  /** How many requests were answered, those of the library included. */
  answered: number
  /** Plain requests that had another answer than 200, or none. */
  readonly failed: FailedRequest[]
  /** Errors that an application with the client library saw. */
  readonly errors: string[]
  /** The ids of rows whose insert was acknowledged. */
  readonly acknowledged: string[]
  readonly tokens: string[]
  readonly live: library.Live<{ id: string }>
  readonly ticks: Tick[]
  /** After a lost connection: of the live query whether all changes were sent, of the subscription that it goes on. */
  readonly resumes: { readonly live: boolean[]; stream: number }
  /** No more requests; the live query goes on. */
  stop(): Promise<void>
  close(): void
}

const SERVICE = { grant_type: 'client_credentials', client_id: 'demo-service', client_secret: 'demo-service-secret' }

/** The table ledger has the key id. */
export async function startLoad({ address, library, ticks }: LoadOptions): Promise<Load> {
  const { Gatehouse, password } = library
  const gate = new Gatehouse(address, { auth: password({ clientId: 'demo-cli', ...ADMIN }) })
  const table = gate.table<{ id: string }>('ledger')
  let isRunning = true
  const work: Promise<void>[] = []
  const subscription = gate.stream.subscribe<Tick>(ticks.controller, ticks.topic, { slow: 'latest' })
  subscription.onResume = () => {
    load.resumes.stream += 1
  }
  const load: Load = {
    answered: 0,
    failed: [],
    errors: [],
    acknowledged: [],
    tokens: [],
    live: gate.live<{ id: string }>`select id from ledger`,
    ticks: [],
    resumes: { live: [], stream: 0 },
    async stop() {
      isRunning = false
      await Promise.all(work.slice(2))
      subscription.close()
      await work[0]
    },
    close() {
      load.live.close()
      gate.close()
    },
  }
  await Promise.all([load.live.ready(), subscription.ready()])

  work.push(readTicks(), readLive())
  for (const pause of [5, 10]) work.push(repeat(pause, insertPlainly))
  work.push(repeat(10, insertByLibrary), repeat(10, queryByLibrary))
  work.push(repeat(10, requestToken), repeat(20, queryPlainly), repeat(20, queryPlainly))
  return load

  async function repeat(pause: number, once: () => Promise<unknown>): Promise<void> {
    while (isRunning) {
      await once()
      await sleep(pause)
    }
  }

  /** Undefined unless the answer is 200. */
  async function send(path: string, body: string | URLSearchParams, headers = {}): Promise<unknown> {
    try {
      const response = await fetch(address + path, { method: 'POST', body, headers })
      const text = await response.text()
      load.answered += 1
      if (response.status === 200) return JSON.parse(text)
      load.failed.push({ what: path, status: response.status, text: text.slice(0, 300), at: performance.now() })
    } catch (error) {
      const reason = error instanceof Error ? `${error.message}: ${error.cause}` : String(error)
      load.failed.push({ what: path, status: undefined, text: reason, at: performance.now() })
    }
    return undefined
  }

  async function requestToken(): Promise<void> {
    const { access_token: token } = Object(await send('/connect/token', new URLSearchParams(SERVICE)))
    if (typeof token === 'string') load.tokens.push(token)
  }

  async function insertPlainly(): Promise<void> {
    const id = randomUUID()
    const headers = { authorization: `Bearer ${await gate.auth.token()}`, 'content-type': 'application/json' }
    if ((await send('/query/ledger/insert', JSON.stringify({ id }), headers)) !== undefined) load.acknowledged.push(id)
  }

  async function queryPlainly(): Promise<void> {
    const headers = { authorization: `Bearer ${await gate.auth.token()}`, 'content-type': 'text/plain' }
    await send('/query', 'SELECT count(*) AS n FROM ledger', headers)
  }

  async function insertByLibrary(): Promise<void> {
    const id = randomUUID()
    if (await attempt('insert', () => table.insert({ id }))) load.acknowledged.push(id)
  }

  async function queryByLibrary(): Promise<void> {
    await attempt('query', () => gate.query`select symbol from instruments where symbol = ${'ACME'}`.rows())
  }

  async function attempt(what: string, act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act()
      load.answered += 1
      return true
    } catch (error) {
      load.errors.push(`${what}: ${error}`)
      return false
    }
  }

  async function readTicks(): Promise<void> {
    for await (const tick of subscription) load.ticks.push(tick)
  }

  async function readLive(): Promise<void> {
    for await (const { recovered } of load.live) if (recovered !== undefined) load.resumes.live.push(recovered)
  }
}
