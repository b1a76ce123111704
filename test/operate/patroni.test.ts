/**
 * PostgreSQL under Patroni, and what happens to it: a switchover, a primary that dies, a primary that is cut off, an old primary that
 * comes back. Counts the acknowledged writes that are lost, and the seconds without any. Needs Debian's packages: `npm run test:all`.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN, signIn } from '../support/demo-user.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { type EventClient, openEvents } from '../support/event-client.ts'
import { missingForPatroni, type PatroniCluster, patroniUrl, startPatroni, TIMES } from '../support/patroni.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'

const missing = missingForPatroni()
const skip = IS_LONG_RUN ? missing : 'runs in npm run test:all'
const TIMEOUT_MS = 300_000

/** A Gatehouse, and clients that write to it all the time. */
interface Node {
  readonly server: TestServer
  readonly writers: Writers
  /** What a live statement was reset by. */
  readonly resets: string[]
  stop(): Promise<void>
}

class Writers {
  /** When each write was acknowledged, by its id. */
  readonly acknowledged = new Map<number, number>()
  failed = 0
  readonly codes = new Set<string>()
  readonly #port: number
  readonly #token: string
  #isStopped = false
  readonly #done: Promise<unknown>
  static #next = 0

  constructor(port: number, token: string, count: number) {
    this.#port = port
    this.#token = token
    this.#done = Promise.all(Array.from({ length: count }, () => this.#write()))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#done
  }

  /** The longest time without an acknowledgement since then, in seconds. */
  longestGap(since: number): number {
    let last = since
    let longest = 0
    for (const at of [...this.acknowledged.values(), performance.now()].filter((time) => time >= since)) {
      longest = Math.max(longest, at - last)
      last = at
    }
    return longest / 1000
  }

  countSince(since: number): number {
    return [...this.acknowledged.values()].filter((at) => at >= since).length
  }

  async #write(): Promise<void> {
    while (!this.#isStopped) {
      const id = ++Writers.#next
      try {
        const reply = await fetch(`http://127.0.0.1:${this.#port}/query`, {
          method: 'POST',
          headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'text/plain' },
          body: `insert into failover values (${id})`,
          signal: AbortSignal.timeout(20_000),
        })
        const text = await reply.text()
        if (reply.status === 200) this.acknowledged.set(id, performance.now())
        else {
          this.failed++
          this.codes.add(String(JSON.parse(text).Code))
        }
      } catch {
        this.failed++
      }
      await sleep(20)
    }
  }
}

async function startNode(url: string, key: string): Promise<Node> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-node-'))
  const flags = {
    '--demo': 'true',
    '--master-key': key,
    '--issuer': 'http://localhost:5998',
    '--log-level': 'warn',
    '--limit-exempt': '127.0.0.1/32',
  }
  const server = await startTestServer({ engine: 'postgres', dataFolder: folder, databaseUrl: url }, { flags })
  const token = (await signIn(server, ADMIN)).access_token
  await fetch(`http://127.0.0.1:${server.port}/query`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: 'create table if not exists failover (id Integer primary key)',
  })
  const events = await openEvents(`http://127.0.0.1:${server.port}/query`, {
    token,
    headers: { 'content-type': 'text/plain' },
    body: 'select id from failover',
  })
  const resets: string[] = []
  void collect(events, resets)
  const writers = new Writers(server.port, token, 4)
  return {
    server,
    writers,
    resets,
    async stop() {
      await writers.stop()
      events.close()
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function collect(events: EventClient, resets: string[]): Promise<void> {
  try {
    for (;;) {
      const { data } = await events.next()
      if (data.Kind === 'Reset') resets.push(String(data.Reason))
    }
  } catch {}
}

interface Figures {
  readonly fault: string
  readonly acknowledged: number
  readonly lost: number
  readonly failed: number
  readonly seconds: number
  readonly resets: number
}

const figures: Figures[] = []

describe('Patroni with synchronous_mode', { skip, timeout: TIMEOUT_MS }, () => {
  let cluster: PatroniCluster
  let near: Node
  /** On the side of the first primary: the partition does not separate it from that. */
  let inside: Node
  let insideRelays: readonly TcpProxy[]

  before(async () => {
    cluster = await startPatroni(true)
    const key = randomBytes(32).toString('base64')
    near = await startNode(patroniUrl(cluster.members.map(({ relay }) => relay.port)), key)
    insideRelays = await Promise.all(cluster.members.map(({ port }) => startTcpProxy('127.0.0.1', port)))
    inside = await startNode(patroniUrl(insideRelays.map(({ port }) => port)), key)
  })
  after(async () => {
    await inside?.stop()
    await near?.stop()
    for (const relay of insideRelays ?? []) await relay.close()
    await cluster?.stop()
    show(figures, 'synchronous_mode: on')
  })

  /** Runs a fault, and waits until writes are acknowledged again for a while. */
  async function suffer(fault: string, happen: () => Promise<void>): Promise<void> {
    await sleep(2000)
    const [since, failed, resets] = [performance.now(), near.writers.failed, near.resets.length]
    await happen()
    const reached = performance.now()
    await until('writes are acknowledged', 30_000, () => near.writers.countSince(reached + 500) > 50)
    await sleep(2000)
    figures.push({
      fault,
      acknowledged: near.writers.countSince(since) + inside.writers.countSince(since),
      lost: await countLost(cluster, [near, inside]),
      failed: near.writers.failed - failed,
      seconds: near.writers.longestGap(since),
      resets: near.resets.length - resets,
    })
    assert.equal(figures.at(-1)?.lost, 0, fault)
    assert.equal(
      near.server.log.join('').includes('writes are stopped'),
      false,
      'nothing is missing, and nothing is said to be',
    )
  }

  test('a switchover', () =>
    suffer('switchover', async () => {
      await cluster.untilRedundant()
      const before = await cluster.leader()
      await cluster.switchover()
      await until('the other is the leader', 20_000, async () => (await cluster.leader()) !== before)
    }))

  test('the primary and its Patroni are killed', () =>
    suffer('kill of the primary', async () => {
      await cluster.untilRedundant()
      await (await cluster.leader()).kill()
      await cluster.leader()
    }))

  test('the old primary comes back, as a standby', () =>
    suffer('old primary back', async () => {
      const leader = await cluster.leader()
      cluster.other(leader).start()
      await cluster.untilRedundant()
      assert.equal(await cluster.leader(), leader)
    }))

  test('the primary is cut off from the other server, from etcd and from one of two nodes', () =>
    suffer('partition', async () => {
      await cluster.untilRedundant()
      const leader = await cluster.leader()
      const other = cluster.other(leader)
      const toOther = insideRelays[cluster.members.indexOf(other)]
      leader.cut()
      toOther?.hold()
      await until('the other is the leader', 30_000, async () => {
        const rows = await other.query('select pg_is_in_recovery() as standby').catch(() => [])
        return rows[0]?.standby === false
      })
      await sleep(5000)
      leader.mend()
      toOther?.mend()
      await cluster.untilRedundant()
      const healed = performance.now()
      await until('the node inside writes to the new primary', 20_000, () => inside.writers.countSince(healed) > 50)
    }))
})

const asynchronous: Figures[] = []

describe('Patroni without synchronous_mode', { skip, timeout: TIMEOUT_MS }, () => {
  test('a primary that is cut off with a node: what it acknowledged is lost, and the node says so', async () => {
    const cluster = await startPatroni(false)
    const key = randomBytes(32).toString('base64')
    const relays = await Promise.all(cluster.members.map(({ port }) => startTcpProxy('127.0.0.1', port)))
    const near = await startNode(patroniUrl(cluster.members.map(({ relay }) => relay.port)), key)
    const inside = await startNode(patroniUrl(relays.map(({ port }) => port)), key)
    try {
      await sleep(2000)
      const since = performance.now()
      const leader = await cluster.leader()
      const other = cluster.other(leader)
      const toOther = relays[cluster.members.indexOf(other)]
      leader.cut()
      toOther?.hold()
      await until('the other is the leader', 30_000, async () => {
        const rows = await other.query('select pg_is_in_recovery() as standby').catch(() => [])
        return rows[0]?.standby === false
      })
      await until('writes are acknowledged', 30_000, () => near.writers.countSince(performance.now() - 1000) > 20)
      const seconds = near.writers.longestGap(since)
      toOther?.mend()
      leader.mend()
      await until('the node inside says why it does not write', 30_000, () =>
        inside.writers.codes.has('Data.LostWrites'),
      )
      await until('so does the other', 10_000, () => near.writers.codes.has('Data.LostWrites'))
      asynchronous.push({
        fault: 'partition',
        acknowledged: near.writers.countSince(since) + inside.writers.countSince(since),
        lost: await countLost(cluster, [near, inside]),
        failed: near.writers.failed,
        seconds,
        resets: near.resets.length,
      })
      assert.match(inside.server.log.join(''), /writes are stopped/)
    } finally {
      await inside.stop()
      await near.stop()
      for (const relay of relays) await relay.close()
      await cluster.stop()
      show(asynchronous, 'synchronous_mode: off')
    }
  })
})

async function countLost(cluster: PatroniCluster, nodes: readonly Node[]): Promise<number> {
  // Before the rows are read: the clients go on.
  const acknowledged = nodes.flatMap(({ writers }) => [...writers.acknowledged.keys()])
  const rows = await (await cluster.leader()).query('select id from gatehouse_data.failover', 'gatehouse')
  const found = new Set(rows.map(({ id }) => Number(id)))
  return acknowledged.filter((id) => !found.has(id)).length
}

function show(rows: readonly Figures[], title: string): void {
  const { ttl, loop_wait, retry_timeout } = TIMES
  const lines = rows.map(
    ({ fault, acknowledged, lost, failed, seconds, resets }) =>
      `| ${fault} | ${acknowledged} | ${lost} | ${failed} | ${seconds.toFixed(1)} | ${resets} |`,
  )
  process.stdout.write(
    `\n${title}, ttl ${ttl}, loop_wait ${loop_wait}, retry_timeout ${retry_timeout}\n| fault | acknowledged | lost | failed | seconds without a write | Resets |\n|---|---|---|---|---|---|\n${lines.join('\n')}\n\n`,
  )
}
