/** Makes segments of changes: sealed, numbered, each with the hash of the one before, and spooled until they are stored. */
import { hostname } from 'node:os'
import { VERSION } from 'gatehouse-protocol'
import { encodeHead } from '../objects/heads.ts'
import { generationName, headName, segmentName } from '../objects/names.ts'
import { hashObject, sealObject } from '../objects/seal.ts'
import { encodeSegment } from '../objects/segment.ts'
import type { ChainEnd, Spooled, SpoolState } from '../spool/state.ts'
import type { Source } from './source.ts'

export class Segments {
  readonly #state: SpoolState
  readonly #source: Source
  readonly #key: Buffer

  constructor(state: SpoolState, source: Source, key: Buffer) {
    this.#state = state
    this.#source = source
    this.#key = key
  }

  /** Spools the head of a new generation. What the one before has not stored is dropped. */
  begin(reason: string): void {
    const random = this.#state.machine.slice(0, 4) + randomLetters()
    const generation = generationName(Date.now(), random, this.#state.chain?.generation)
    this.#state.reset()
    const head = {
      ...({ format: 1, kind: 'generation', engine: 'sqlite', generation, machine: this.#state.machine } as const),
      ...{ host: hostname(), began: Date.now(), version: VERSION, reason },
    }
    const name = headName(generation)
    const sealed = sealObject(this.#key, name, encodeHead(head))
    const hash = hashObject(sealed)
    const object = { name, number: 0, hash, since: head.began, time: head.began, isComplete: false }
    this.#state.add(object, sealed, { generation, number: 0, hash, time: head.began }, new Map())
  }

  /** Spools the changes as the next segment. It completes a moment if nothing of the look is missing. */
  cut(chain: ChainEnd, isComplete: boolean): ChainEnd {
    const { changes, moment, databases } = this.#source
    const number = chain.number + 1
    const name = segmentName(chain.generation, { level: 0, first: number, last: number })
    const head = {
      ...({ format: 1, first: number, last: number, time: moment, isComplete, previous: chain.hash } as const),
      databases: this.#source.describe(isComplete),
    }
    const sealed = sealObject(this.#key, name, encodeSegment({ head, pages: changes.pages }))
    const hash = hashObject(sealed)
    const since = changes.since ?? moment
    const object: Omit<Spooled, 'bytes'> = { name, number, hash, since, time: moment, isComplete }
    const changed = databases.map(
      ({ followed, sums }) => [followed.name, { sums, pages: changes.pages.get(followed.name)?.keys() ?? [] }] as const,
    )
    const next = { ...chain, number, hash, time: moment }
    this.#state.add(object, sealed, next, new Map(changed))
    changes.clear()
    return next
  }
}

function randomLetters(): string {
  return Math.random().toString(36).slice(2, 8).padEnd(6, '0')
}
