/** Publishers of a loss test: each numbers its messages, and notes which of them the server has acknowledged. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import type { Nodes } from './nodes.ts'

/** What one publisher has sent. It is the only one that publishes to its topics, so their messages are in the order of its numbers. */
export interface Sent {
  readonly name: string
  readonly topics: readonly string[]
  /** Of each number the topic. Those that are in neither set are known not to be published. */
  readonly chooseTopic: string[]
  readonly acknowledged: Set<number>
  /** The connection broke before the reply: it is published once or not at all. */
  readonly unknown: Set<number>
  /** Requests that were sent again, or connections that were opened again. */
  repeats: number
  /** The longest time between two acknowledged messages. */
  longestPauseMs: number
  acknowledgedAt: number
}

export interface Publisher {
  readonly sent: Sent
  /** Publishes until it is stopped; resolves when the last message is acknowledged or its outcome will never be known. */
  run(): Promise<void>
  stop(): void
}

const ATTEMPT_MS = 10_000
const RETRY_MS = 100

/** Batches with an idempotency key: a request is repeated, on any node, until it is acknowledged. */
export function httpPublisher(nodes: Nodes, feed: string, name: string, topics: readonly string[]): Publisher {
  const sent = createSent(name, topics)
  let isStopped = false
  const post = async (body: string, key: string): Promise<boolean> => {
    try {
      const reply = await fetch(`http://127.0.0.1:${nodes.port()}/feeds/${feed}`, {
        method: 'POST',
        headers: {
          ...{ authorization: `Bearer ${nodes.token}`, 'content-type': 'application/json', 'idempotency-key': key },
        },
        body,
        signal: AbortSignal.timeout(ATTEMPT_MS),
      })
      const text = await reply.text()
      if (reply.status >= 400 && reply.status < 500 && reply.status !== 429 && reply.status !== 409)
        nodes.faults.push(`publishing was refused with ${reply.status}: ${text.slice(0, 200)}`)
      return reply.status === 200
    } catch {
      return false
    }
  }
  return {
    sent,
    stop() {
      isStopped = true
    },
    async run() {
      for (let round = 0; !isStopped; round++) {
        const numbers = Array.from({ length: 1 + (round % 7) }, () => addMessage(sent))
        const body = JSON.stringify(numbers.map((n) => ({ Topic: sent.chooseTopic[n], Data: { p: name, n } })))
        const key = randomUUID()
        while (!(await post(body, key))) {
          sent.repeats++
          await sleep(RETRY_MS)
        }
        for (const n of numbers) acknowledge(sent, n)
        await sleep(nodes.pauseMs)
      }
    },
  }
}

/** Single messages on a stream, several on their way at once. There is no key, so what is not acknowledged is not sent again. */
export function streamPublisher(nodes: Nodes, feed: string, name: string, topics: readonly string[]): Publisher {
  const sent = createSent(name, topics)
  let isStopped = false
  const publishOn = (socket: WebSocket): Promise<void> =>
    new Promise((resolve) => {
      const waiting = new Set<number>()
      const publish = (): void => {
        if (isStopped) return void (waiting.size === 0 && socket.close())
        if (socket.readyState !== WebSocket.OPEN || waiting.size >= 8) return
        const n = addMessage(sent)
        waiting.add(n)
        const message = { Controller: feed, Topic: sent.chooseTopic[n], Action: 'Publish', TransactionID: n + 1 }
        socket.send(JSON.stringify({ ...message, Data: { p: name, n } }))
      }
      const timer = setInterval(publish, nodes.pauseMs)
      const silent = setInterval(() => {
        if (isStopped) socket.terminate()
      }, ATTEMPT_MS)
      socket.on('open', publish)
      socket.on('message', (data: Buffer) => {
        const reply: Record<string, unknown> = JSON.parse(data.toString())
        const n = Number(reply.TransactionID) - 1
        if (!waiting.delete(n)) return
        // A fault, such as a database that is away, leaves the outcome open.
        if (reply.Action === 'Error') sent.unknown.add(n)
        else acknowledge(sent, n)
        if (isStopped) publish()
      })
      socket.on('error', () => {})
      socket.on('close', () => {
        clearInterval(timer)
        clearInterval(silent)
        for (const n of waiting) sent.unknown.add(n)
        resolve()
      })
    })
  return {
    sent,
    stop() {
      isStopped = true
    },
    async run() {
      while (!isStopped) {
        await publishOn(nodes.socket())
        sent.repeats++
        await sleep(RETRY_MS)
      }
    },
  }
}

function createSent(name: string, topics: readonly string[]): Sent {
  return {
    name,
    topics,
    chooseTopic: [],
    acknowledged: new Set(),
    unknown: new Set(),
    repeats: 0,
    longestPauseMs: 0,
    acknowledgedAt: Date.now(),
  }
}

function acknowledge(sent: Sent, n: number): void {
  sent.acknowledged.add(n)
  sent.longestPauseMs = Math.max(sent.longestPauseMs, Date.now() - sent.acknowledgedAt)
  sent.acknowledgedAt = Date.now()
}

/** The next number; topics take turns. */
function addMessage({ chooseTopic, topics }: Sent): number {
  return chooseTopic.push(topics[chooseTopic.length % topics.length] ?? '') - 1
}
