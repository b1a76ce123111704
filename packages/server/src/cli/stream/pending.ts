/** Tracks what a session still expects: replies to its requests, and messages of its subscriptions. */
import { type JsonObject, membersOf, parseJson } from '../output/json.ts'

export class PendingMessages {
  /** Requests without a reply, counted by id: a client may use an id more than once. */
  readonly #requests = new Map<string, number>()
  /** The Sub of each topic, as it was sent. */
  readonly #subscriptions = new Map<string, string>()
  /** Topics that the server ended with the token; they come back with the next one. */
  readonly #suspended = new Set<string>()

  get isEmpty(): boolean {
    return this.#requests.size === 0 && this.#subscriptions.size === 0
  }

  get subscriptions(): readonly string[] {
    return [...this.#subscriptions.values()]
  }

  /** Whether a topic such as `Auth/Identify` is subscribed to. */
  has(topic: string): boolean {
    return this.#subscriptions.has(topic)
  }

  onSent(text: string): void {
    const message = membersOf(parseJson(text))
    const { Action: action = 'Publish', TransactionID: id, Confirm: confirm } = message
    if (action === 'Sub') this.#subscriptions.set(topicOf(message), text)
    // Nothing is sent when it has ended.
    if (action === 'Unsub' && confirm !== true) this.#subscriptions.delete(topicOf(message))
    // A successful Sub is answered only if it asks for a confirmation; Cancel and Error are never answered.
    if (id !== undefined && (action === 'Publish' || confirm === true)) this.#count(String(id), 1)
  }

  /** `isLapsed`: the token has expired or was revoked, and another follows. */
  onReceived(text: string, isLapsed = false): void {
    const message = membersOf(parseJson(text))
    const { Action: action, TransactionID: id, Confirm: confirm, Data: data } = message
    const topic = topicOf(message)
    if (isLapsed && action === 'Error' && id === undefined && String(data).startsWith('Authority'))
      this.#suspended.add(topic)
    const isEnd = action === 'Unsub' || (action === 'Sub' && confirm === false) || action === 'Error'
    if (isEnd && !this.#suspended.has(topic)) this.#subscriptions.delete(topic)
    // "Confirm":false follows an error, which was the reply.
    if (id !== undefined && confirm !== false) this.#count(String(id), -1)
  }

  /** The subscriptions that come back now that there is a valid token. */
  takeSuspended(): string[] {
    const texts = [...this.#suspended].map((topic) => this.#subscriptions.get(topic))
    this.#suspended.clear()
    return texts.filter((text) => text !== undefined)
  }

  /** The connection is gone: how many requests will not be answered. */
  onLost(): number {
    const unanswered = this.#requests.size
    this.#requests.clear()
    this.#suspended.clear()
    return unanswered
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
