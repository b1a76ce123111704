/** When a message was published. */
import { Time } from '../../../ui/index.ts'

const DAY_MS = 86_400_000

/** The time of day with milliseconds, as messages follow each other fast; or the date if that is longer ago. */
export function PublishedTime({ at }: { readonly at: string | number | undefined }) {
  const isToday = at !== undefined && Date.now() - new Date(at).getTime() < DAY_MS
  return <Time at={at} as={isToday ? 'precise' : 'date'} />
}
