/** What a caller may see of a topic, or the topics of a pattern, at one moment. */
import type { Refusal } from 'gatehouse-protocol'
import type { CoveredParts } from './topic-coverage.ts'
import type { PartAccess } from './uses.ts'

/** Topics that are delayed, or left out. */
export interface TopicLabel {
  /** Undefined where no product names them. */
  readonly product: string | undefined
  /** Milliseconds; undefined: no access. */
  readonly delay: number | undefined
  /** Undefined: all. */
  readonly topics: readonly string[] | undefined
}

export class TopicAccess {
  /** Undefined where no product covers it. */
  readonly parts: readonly PartAccess[] | undefined
  readonly covered: CoveredParts | undefined
  /** In milliseconds; 0: real-time. Those that any topic has. */
  readonly delays: readonly number[]
  readonly isUniform: boolean
  readonly isPartial: boolean
  readonly refusal: Refusal | undefined

  constructor(parts: readonly PartAccess[] | undefined, covered: CoveredParts | undefined) {
    this.parts = parts
    this.covered = covered
    const all = parts?.map(readDelay) ?? [0]
    const delays = new Set(all.flatMap((delay) => delay ?? []))
    this.delays = [...delays].sort((one, other) => one - other)
    this.isPartial = all.includes(undefined)
    this.isUniform = this.delays.length === 1 && !this.isPartial
    const [first] = parts ?? []
    this.refusal = this.delays.length === 0 && first?.access === 'none' ? first.refusal : undefined
  }

  delayFor(topic: string): number | undefined {
    if (this.parts === undefined) return 0
    const part = this.parts[this.covered?.find(topic) ?? 0]
    return part && readDelay(part)
  }

  get labels(): readonly TopicLabel[] {
    const { parts = [], covered } = this
    return parts.flatMap((part, index) => {
      if (part.access === 'realtime') return []
      const product = part.access === 'none' ? covered?.parts[index]?.[0] : part.product
      return [{ product, delay: readDelay(part), topics: parts.length === 1 ? undefined : covered?.topics[index] }]
    })
  }
}

/** Undefined without access. */
function readDelay(part: PartAccess): number | undefined {
  if (part.access === 'none') return undefined
  return part.access === 'realtime' ? 0 : part.delay
}
