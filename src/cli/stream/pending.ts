/** Tracks what a client still expects: replies to its requests, and messages of its subscriptions. */
import { type JsonObject, membersOf, parseJson } from '../json.ts'

export class PendingMessages {
  /** Requests without a reply, counted by id: a client may use an id more than once. */
  readonly #requests = new Map<string, number>()
  readonly #subscriptions = new Set<string>()

  get isEmpty(): boolean {
    return this.#requests.size === 0 && this.#subscriptions.size === 0
  }

  onSent(text: string): void {
    const message = membersOf(parseJson(text))
    const { Action: action = 'Publish', TransactionID: id, Confirm: confirm } = message
    if (action === 'Sub') this.#subscriptions.add(topicOf(message))
    // A successful Sub is answered only if it asks for a confirmation; Cancel and Error are never answered.
    if (id !== undefined && (action === 'Publish' || confirm === true)) this.#count(String(id), 1)
  }

  onReceived(text: string): void {
    const message = membersOf(parseJson(text))
    const { Action: action, TransactionID: id, Confirm: confirm } = message
    const isEnd = action === 'Unsub' || (action === 'Sub' && confirm === false) || action === 'Error'
    if (isEnd) this.#subscriptions.delete(topicOf(message))
    // "Confirm":false follows an error, which was the reply.
    if (id !== undefined && confirm !== false) this.#count(String(id), -1)
  }

  #count(id: string, change: 1 | -1): void {
    const count = (this.#requests.get(id) ?? 0) + change
    if (count > 0) this.#requests.set(id, count)
    else this.#requests.delete(id)
  }
}

function topicOf({ Controller: controller = 'Platform', Topic: topic }: JsonObject): string {
  return `${controller}/${topic}`
}
