/** Asks every node one question, such as what runs there now, and gathers what they say within a second. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../protocol/clock.ts'
import type { Nodes } from '../store/nodes.ts'
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

export interface AssemblyOptions extends AskOptions {
  /** For people: host and process. */
  readonly name: string
  readonly bus: Pick<Bus, 'publish' | 'subscribe'>
  readonly onError: (error: unknown) => void
}

export interface AskOptions {
  readonly nodes: Nodes
  readonly bus: Pick<Bus, 'publish'>
  readonly clock: Clock
}

const DEADLINE_MS = 1_000
const FIRST_LOOK_MS = 5
const LONGEST_PAUSE_MS = 80
/** So long a question is kept on the bus for a node that hears late. */
const QUESTION_KEPT_MS = 10_000

export function openAssembly(options: AssemblyOptions): Assembly {
  const { name, bus, nodes, onError } = options
  const id = randomUUID()
  const answers = new Map<string, (words: Words) => unknown>()
  const asked = new Set<string>()
  const say = async (topic: string, words: Words): Promise<unknown> => (await answers.get(topic)?.(words)) ?? null
  const seen = () => nodes.seen({ id, name }).catch(onError)

  const unsubscribe = bus.subscribe((event) => {
    if (event.kind !== 'nodes-asked' || asked.has(event.question)) return
    say(event.topic, event.words)
      .then((body) => nodes.answer(event.question, id, JSON.stringify(body)))
      .catch(onError)
  })
  // Nobody at the start has to wait for it.
  const arrived = nodes.arrive().then(seen, onError)
  const beating = setInterval(seen, nodes.seenEveryMs)
  beating.unref()

  return {
    answer: (topic, said) => void answers.set(topic, said),
    async ask(topic, words = {}) {
      const question = randomUUID()
      asked.add(question)
      try {
        const own = { node: name, body: await say(topic, words) }
        const { said, silent } = await askNodes(options, { question, topic, words, asker: id })
        return { said: [own, ...said], silent }
      } finally {
        asked.delete(question)
      }
    },
    async close() {
      clearInterval(beating)
      unsubscribe()
      await arrived
      await nodes.leave(id).catch(onError)
    },
  }
}

/** For a process that serves nothing itself and so has nothing to say. */
export function createAsker(options: AskOptions): Pick<Assembly, 'ask'> {
  return { ask: (topic, words = {}) => askNodes(options, { question: randomUUID(), topic, words, asker: '' }) }
}

interface Question {
  readonly question: string
  readonly topic: string
  readonly words: Words
  /** The node that asks, which is not asked. */
  readonly asker: string
}

async function askNodes(
  { nodes, bus, clock }: AskOptions,
  { question, topic, words, asker }: Question,
): Promise<Gathered> {
  const others = (await nodes.present()).filter(({ id }) => id !== asker)
  if (others.length === 0) return { said: [], silent: [] }
  try {
    await bus.publish({ kind: 'nodes-asked', question, topic, words, expiresAt: clock() + QUESTION_KEPT_MS })
    const bodies = await answersOf(
      nodes,
      question,
      others.map(({ id }) => id),
    )
    const said = others.flatMap(({ id, name }) => {
      const body = bodies.get(id)
      return body === undefined ? [] : [{ node: name, body: JSON.parse(body) as unknown }]
    })
    return { said, silent: others.filter(({ id }) => !bodies.has(id)).map(({ name }) => name) }
  } finally {
    await nodes.forget(question)
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
