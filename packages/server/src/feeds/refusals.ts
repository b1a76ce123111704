/** The errors that publishers and subscribers of feeds get. They are described in the table of HTTP errors. */
import { HTTP_ERRORS, Refusal, type RefusalDetails } from 'gatehouse-protocol'

export type FeedErrorCode = Extract<keyof typeof HTTP_ERRORS, `feed.${string}`>

export function refuse(code: FeedErrorCode, text: string, details: RefusalDetails = {}): Refusal {
  return new Refusal(code, HTTP_ERRORS[code].status, text, details)
}

/** For limits that are free again after a while. */
export function refuseForNow(code: FeedErrorCode, text: string, seconds: number): Refusal {
  return refuse(code, text, { headers: { 'retry-after': String(seconds) } })
}

/** Why an engine does not append messages. */
export type AppendFault = 'topics' | 'bytes' | 'key' | 'dropped'

/** Topics expire, or are removed, slowly. */
const RETRY_SECONDS = 60

export function refuseAppend(fault: AppendFault, feed: { name: string; topics: number; bytes: number }): Refusal {
  switch (fault) {
    case 'topics':
      return refuseForNow(
        'feed.topics',
        `The feed ${feed.name} has its most topics, ${feed.topics}: remove some, or raise its bound`,
        RETRY_SECONDS,
      )
    case 'bytes':
      return refuseForNow(
        'feed.full',
        `The messages that the feed ${feed.name} keeps would have more than its ${feed.bytes} bytes: shorten its history, or raise its bound`,
        RETRY_SECONDS,
      )
    case 'dropped':
      return refuse('feed.unknown', `The feed ${feed.name} was removed`)
    case 'key':
      return refuse(
        'feed.key_used',
        'The key of this request (the Idempotency-Key, or the id and source of an event) was used for another request',
      )
  }
}
