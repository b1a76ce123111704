/** Tests of every engine: random requests, compared with a model that keeps everything. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { NewMessage } from '../../../packages/server/src/feeds/engine.ts'
import { chooses, type Feed, type TopicChoice } from '../../../packages/server/src/feeds/feed.ts'
import { IS_LONG_RUN } from '../../support/engines.ts'
import { ALL, below, only, readAll, show, type Workbench } from './engine-under-test.ts'

const ROUNDS = IS_LONG_RUN ? 300 : 25
const TOPICS = ['A', 'A/1', 'A/2', 'B/1', 'b/1']
const CHOICES: readonly TopicChoice[] = [ALL, below('A'), below('A/'), below('B/'), only('A'), only('A/1'), only('b/1')]
const HOUR = 3_600_000

export function declareModel(use: () => Workbench): void {
  describe('random requests', () => {
    for (const keep of ['all', 'latest'] as const) {
      test(`keep ${keep} with a bounded history`, async () => {
        const history = { messages: 4, time: HOUR }
        const seed = Math.floor(Math.random() * 2 ** 31)
        const random = createRandom(seed)
        const store = await use().create({ keep, history })
        const model = new Model({ keep, history })
        for (let round = 0; round < ROUNDS; round++) {
          const request = Array.from({ length: 1 + random(6) }, () => createMessage(random))
          const { seq } = await store.append(request)
          model.append(request, seq)
          const choice = CHOICES[random(CHOICES.length)] ?? ALL
          const after = model.positions[random(model.positions.length)] ?? 0
          const read = await readAll(store, choice, after, { limit: 1 + random(10) })
          const why = `seed ${seed}, round ${round}`
          assert.deepEqual(show(read.messages), model.after(choice, after), why)
          const gap = model.gapAfter(choice, after)
          if (gap === 'removal') assert.ok(read.hasGap || read.removals.length > 0, why)
          else assert.equal(read.hasGap, gap === 'messages', why)
          const count = random(8)
          assert.deepEqual(
            show(await store.readLast(choice, count)),
            model.after(choice, 0).slice(-count || Infinity),
            why,
          )
          const newest = await readAll(store, choice, 0, { kind: 'newest', limit: 3 })
          assert.deepEqual(show(newest.messages), model.newest(choice), why)
          assert.equal((await store.usage()).topics, model.newest(ALL).length, why)
        }
      })
    }
  })
}

interface ModelMessage extends NewMessage {
  /** Of its request: the numbers within one are not known. */
  readonly seq: number
  isKept: boolean
}

class Model {
  readonly #most: number
  readonly #messages: ModelMessage[] = []
  /** Ends of requests. */
  readonly positions: number[] = [0]

  constructor({ history }: Pick<Feed, 'keep' | 'history'>) {
    this.#most = history?.messages ?? 0
  }

  append(request: readonly NewMessage[], seq: number): void {
    for (const message of request) {
      // Whether the removal of a topic that holds nothing is seen is left to the engine.
      if (message.data === undefined && !this.#messages.some(({ topic, isKept }) => isKept && topic === message.topic))
        continue
      this.#messages.push({ ...message, seq, isKept: message.data !== undefined })
      const kept = this.#messages.filter(({ topic, isKept }) => isKept && topic === message.topic)
      const most = message.data === undefined ? 0 : this.#most
      for (const old of kept.slice(0, Math.max(0, kept.length - most))) old.isKept = false
    }
    this.positions.push(seq)
  }

  after(choice: TopicChoice, after: number): string[] {
    return show(this.#messages.filter(({ topic, seq, isKept }) => isKept && seq > after && chooses(choice, topic)))
  }

  newest(choice: TopicChoice): string[] {
    const last = new Map<string, ModelMessage>()
    for (const message of this.#messages) if (message.isKept) last.set(message.topic, message)
    return show(
      this.#messages.filter((message) => last.get(message.topic) === message && chooses(choice, message.topic)),
    )
  }

  gapAfter(choice: TopicChoice, after: number): 'none' | 'messages' | 'removal' {
    const missing = this.#messages.filter(({ topic, seq, isKept }) => !isKept && seq > after && chooses(choice, topic))
    if (missing.some(({ data }) => data !== undefined)) return 'messages'
    return missing.length > 0 ? 'removal' : 'none'
  }
}

function createMessage(random: (below: number) => number): NewMessage {
  const topic = TOPICS[random(TOPICS.length)] ?? 'A'
  return { topic, data: random(8) === 0 ? undefined : String(random(1000)) }
}

/** A small generator whose runs can be repeated by their seed. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
}
