/** Compares what subscribers of a loss test received with what was acknowledged. */
import type { Sent } from './publishers.ts'
import { covers, type Older, type Received, type Subscriber } from './subscribers.ts'

export interface Verdict {
  acknowledged: number
  unknown: number
  repeated: number
  deliveries: number
  lost: number
  duplicated: number
  outOfOrder: number
  /** Published although nobody sent it, or refused. */
  invented: number
  /** Topics of `latest` that do not end with the newest message. */
  stale: number
  /** After a newer message of their topic. */
  backwards: number
  reconnects: number
  resumed: number
  notRecovered: number
  longestPauseMs: number
  readonly examples: string[]
}

export function judge(sent: ReadonlyMap<string, readonly Sent[]>, subscribers: readonly Subscriber[]): Verdict {
  const verdict: Verdict = {
    ...{ acknowledged: 0, unknown: 0, repeated: 0, deliveries: 0, lost: 0, duplicated: 0, outOfOrder: 0, invented: 0 },
    ...{ stale: 0, backwards: 0, reconnects: 0, resumed: 0, notRecovered: 0, longestPauseMs: 0, examples: [] },
  }
  for (const one of [...sent.values()].flat()) {
    verdict.acknowledged += one.acknowledged.size
    verdict.unknown += one.unknown.size
    verdict.repeated += one.repeats
    verdict.longestPauseMs = Math.max(verdict.longestPauseMs, one.longestPauseMs)
  }
  for (const [index, { received, connections }] of subscribers.entries()) {
    verdict.reconnects += connections - 1
    for (const one of received) {
      verdict.resumed += one.resumed
      verdict.notRecovered += one.notRecovered
      const publishers = sent.get(one.wish.feed) ?? []
      // One without a reply can be stored after the next one.
      const isUnknown = (name: string, n: number) =>
        publishers.some((each) => each.name === name && each.unknown.has(n))
      const backwards = one.backwards.filter(({ p, n }) => !isUnknown(p, n))
      verdict.backwards += backwards.length
      const found = [
        one.wish.feed === 'Orders' ? judgeAll(one, publishers, verdict) : judgeLatest(one, publishers, verdict),
        ...backwards.slice(0, 3).map(describeOlder),
      ].filter((text) => text !== '')
      if (found.length > 0 && verdict.examples.length < 10)
        verdict.examples.push(`subscriber ${index}, ${JSON.stringify(one.wish)}: ${found.join('; ')}`)
    }
  }
  return verdict
}

/** Every acknowledged message exactly once and in order; one whose outcome is unknown at most once. */
function judgeAll({ wish, numbers }: Received, publishers: readonly Sent[], verdict: Verdict): string {
  const found: string[] = []
  for (const { name, chooseTopic, acknowledged, unknown } of publishers) {
    const arrived = numbers.get(name) ?? []
    const once = new Set(arrived)
    verdict.deliveries += arrived.length
    verdict.duplicated += arrived.length - once.size
    if (arrived.length > once.size) found.push(`${name} twice: ${repeatedIn(arrived).slice(0, 5)}`)
    const missing = [...acknowledged].filter(
      (n) => covers(wish, { Controller: wish.feed, Topic: chooseTopic[n] ?? '' }) && !once.has(n),
    )
    verdict.lost += missing.length
    if (missing.length > 0) found.push(`${name} lost: ${missing.slice(0, 5)} … ${missing.at(-1)}`)
    const invented = [...once].filter((n) => !acknowledged.has(n) && !unknown.has(n))
    verdict.invented += invented.length
    if (invented.length > 0) found.push(`${name} invented: ${invented.slice(0, 5)}`)
    // One without a reply can be stored by a node that is no longer there, after the next one.
    const ordered = [...once].filter((n) => acknowledged.has(n))
    const wrong = ordered.filter((n, index) => index > 0 && n < (ordered[index - 1] ?? 0))
    verdict.outOfOrder += wrong.length
    if (wrong.length > 0) found.push(`${name} out of order: ${wrong.slice(0, 5)}`)
  }
  return found.join('; ')
}

function judgeLatest({ wish, newest }: Received, publishers: readonly Sent[], verdict: Verdict): string {
  const stale: string[] = []
  for (const sent of publishers)
    for (const [topic, last] of findNewest(sent))
      if (covers(wish, { Controller: wish.feed, Topic: topic }) && (newest.get(topic)?.n ?? -1) < last)
        stale.push(`${topic} at ${newest.get(topic)?.n} instead of ${last}`)
  verdict.stale += stale.length
  return stale.slice(0, 3).join('; ')
}

function describeOlder({ p, n, newest, isResent }: Older): string {
  return `${p} ${n} came after ${newest}${isResent ? ', on a later connection' : ''}`
}

function findNewest({ chooseTopic, acknowledged }: Sent): Map<string, number> {
  const newest = new Map<string, number>()
  for (const n of acknowledged) newest.set(chooseTopic[n] ?? '', Math.max(newest.get(chooseTopic[n] ?? '') ?? -1, n))
  return newest
}

function repeatedIn(numbers: readonly number[]): number[] {
  const seen = new Set<number>()
  return numbers.filter((n) => seen.has(n) || !seen.add(n))
}
