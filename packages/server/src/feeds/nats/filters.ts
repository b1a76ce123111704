/** The subjects that a consumer delivers: those that the subscribers of this node want, or all where these are many. */
import type { Wanted } from '../engine.ts'
import { covers, type Subjects } from './subjects.ts'

/** With more, it costs nats-server more to choose the messages than to send all. */
const MOST_FILTERS = 100

/** Subjects that do not overlap; undefined for all of the feed. */
export function chooseFilters({ topics, prefixes }: Wanted, subjects: Subjects): ReadonlySet<string> | undefined {
  if (topics.size + prefixes.size > MOST_FILTERS) return undefined
  const wanted = new Set([
    ...[...prefixes].map((prefix) => subjects.writeFilter({ kind: 'prefix', prefix })),
    ...[...topics].map((topic) => subjects.ofTopic(topic)),
  ])
  if (wanted.has(subjects.all)) return undefined
  const all = [...wanted]
  return new Set(all.filter((subject) => !all.some((other) => other !== subject && covers(other, subject))))
}
