/** Asks every node one question, such as what runs there now, and gathers what they say within a second. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../protocol/clock.ts'
import { type Nodes, SEEN_EVERY_MS } from '../store/nodes.ts'
import type { Bus } from './bus.ts'

/** What a question is about beyond its topic; plain texts, for they cross to other nodes. */
export type Words = Readonly<Record<string, string>>

export interface Assembly {
  /** What this node says to a topic; a node that has nothing to say about it says nothing. */
  answer(topic: string, say: (words: Words) => unknown): void
  ask(topic: string, words?: Words): Promise<Gathered>
  close(): Promise<void>
}

export interface Gathered {
  readonly said: readonly { readonly node: string; readonly body: unknown }[]
  /** Nodes that are there and did not answer in time. */
  readonly silent: readonly string[]
}

export interface AssemblyOptions {
  /** For people: host and process. */
  readonly name: string
  readonly bus: Bus
  /** Undefined where this node is the only one that there can be. */
  readonly nodes: Nodes | undefined
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

const DEADLINE_MS = 1_000
const FIRST_LOOK_MS = 5
const LONGEST_PAUSE_MS = 80
/** So long a question is kept on the bus for a node that hears late. */
const QUESTION_KEPT_MS = 10_000

export async function openAssembly(options: AssemblyOptions): Promise<Assembly> {
  const { name, bus, nodes, clock, onError } = options
  const id = randomUUID()
  const answers = new Map<string, (words: Words) => unknown>()
  const asked = new Set<string>()
  const say = async (topic: string, words: Words): Promise<unknown> => (await answers.get(topic)?.(words)) ?? null

  const unsubscribe = bus.subscribe((event) => {
    if (nodes === undefined || event.kind !== 'nodes-asked' || asked.has(event.question)) return
    say(event.topic, event.words)
      .then((body) => nodes.answer(event.question, id, JSON.stringify(body)))
      .catch(onError)
  })
  await nodes?.seen({ id, name })
  const beating = setInterval(() => void nodes?.seen({ id, name }).catch(onError), SEEN_EVERY_MS)
  beating.unref()

  return {
    answer: (topic, said) => void answers.set(topic, said),
    async ask(topic, words = {}) {
      const own = { node: name, body: await say(topic, words) }
      const others = ((await nodes?.present()) ?? []).filter((node) => node.id !== id)
      if (nodes === undefined || others.length === 0) return { said: [own], silent: [] }
      const question = randomUUID()
      asked.add(question)
      try {
        await bus.publish({ kind: 'nodes-asked', question, topic, words, expiresAt: clock() + QUESTION_KEPT_MS })
        const bodies = await answersOf(
          nodes,
          question,
          others.map((node) => node.id),
        )
        const said = others.flatMap((node) => {
          const body = bodies.get(node.id)
          return body === undefined ? [] : [{ node: node.name, body: JSON.parse(body) as unknown }]
        })
        const silent = others.filter((node) => !bodies.has(node.id)).map((node) => node.name)
        return { said: [own, ...said], silent }
      } finally {
        asked.delete(question)
        await nodes.forget(question)
      }
    },
    async close() {
      clearInterval(beating)
      unsubscribe()
      await nodes?.leave(id).catch(onError)
    },
  }
}

async function answersOf(
  nodes: Nodes,
  question: string,
  awaited: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const end = performance.now() + DEADLINE_MS
  for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    await sleep(pause)
    const bodies = await nodes.answersTo(question)
    if (performance.now() >= end || awaited.every((node) => bodies.has(node))) return bodies
  }
}
