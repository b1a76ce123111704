/** Why a request to publish is refused. */
import { Refusal } from 'gatehouse-protocol'

const AGAIN = { headers: { 'Retry-After': '5' } }

export function tooManyTopics(feed: string, most: number): Refusal {
  return new Refusal(
    'feed.topics',
    429,
    `The feed ${feed} has ${most} topics already, which is the most it may have`,
    AGAIN,
  )
}

export function full(feed: string, most: number): Refusal {
  return new Refusal(
    'feed.full',
    429,
    `The messages that the feed ${feed} keeps would be longer than ${most} bytes`,
    AGAIN,
  )
}

export function keyUsed(): Refusal {
  return new Refusal('feed.key_used', 422, 'The Idempotency-Key was used with another body')
}
