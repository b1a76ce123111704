/** Tracks what a session still expects: replies to its requests, and messages of its subscriptions. */
import { asObject, type JsonObject, parseJson } from '../output/json.ts'

export class PendingMessages {
  /** Requests without a reply, counted by id: a client may use an id more than once. */
  readonly #requests = new Map<string, number>()
  /** The Sub of each topic, as it was sent. */
  readonly #subscriptions = new Map<string, string>()
  /** The position of the last message of each of these, where the feed has a history. */
  readonly #positions = new Map<string, string>()
  /** Topics that the server ended with the token; they come back with the next one. */
  readonly #suspended = new Set<string>()

  get isEmpty(): boolean {
    return this.#requests.size === 0 && this.#subscriptions.size === 0
  }

  /** The messages that open the subscriptions again, after the last message that each has received. */
  get subscriptions(): readonly string[] {
    return [...this.#subscriptions.keys()].map((topic) => this.#again(topic))
  }

  /** Whether a topic such as `Auth/Identify` is subscribed to. */
  has(topic: string): boolean {
    return this.#subscriptions.has(topic)
  }

  onSent(text: string): void {
    const message = asObject(parseJson(text))
    const { Action: action = 'Publish', TransactionID: id, Confirm: confirm } = message
    if (action === 'Sub') this.#subscriptions.set(messageTopic(message), text)
    // Nothing is sent when it has ended.
    if (action === 'Unsub' && confirm !== true) this.#forget(messageTopic(message))
    // A successful Sub is answered only if it asks for a confirmation; Cancel and Error are never answered.
    if (id !== undefined && (action === 'Publish' || confirm === true)) this.#count(String(id), 1)
  }

  /** `isLapsed`: the token has expired or was revoked, and another follows. */
  onReceived(text: string, isLapsed = false): void {
    const message = asObject(parseJson(text))
    const { Action: action, TransactionID: id, Confirm: confirm, Data: data } = message
    const topic = messageTopic(message)
    if (isLapsed && action === 'Error' && id === undefined && String(data).startsWith('Authority'))
      this.#suspended.add(topic)
    const isEnd = action === 'Unsub' || (action === 'Sub' && confirm === false) || action === 'Error'
    if (isEnd && !this.#suspended.has(topic)) this.#forget(topic)
    this.#notePosition(message)
    // "Confirm":false follows an error, which was the reply.
    if (id !== undefined && confirm !== false) this.#count(String(id), -1)
  }

  /** The subscriptions that come back now that there is a valid token. */
  takeSuspended(): string[] {
    const topics = [...this.#suspended].filter((topic) => this.#subscriptions.has(topic))
    this.#suspended.clear()
    return topics.map((topic) => this.#again(topic))
  }

  /** The connection is gone: how many requests will not be answered. */
  onLost(): number {
    const unanswered = this.#requests.size
    this.#requests.clear()
    this.#suspended.clear()
    return unanswered
  }

  #forget(topic: string): void {
    this.#subscriptions.delete(topic)
    this.#positions.delete(topic)
  }

  /** A message of a pattern names it; the confirmation of a Sub with Data has the position where it begins. */
  #notePosition(message: JsonObject): void {
    const { Action: action, Pattern: pattern, Position: position, Data: data } = message
    const topic = messageTopic(typeof pattern === 'string' ? { ...message, Topic: pattern } : message)
    const noted = action === 'Sub' ? asObject(data).Position : position
    if (typeof noted === 'string' && this.#subscriptions.has(topic)) this.#positions.set(topic, noted)
  }

  #again(topic: string): string {
    const text = this.#subscriptions.get(topic) ?? ''
    const position = this.#positions.get(topic)
    if (position === undefined) return text
    const message = asObject(parseJson(text))
    return JSON.stringify({ ...message, Data: { ...asObject(message.Data), Resume: position, Last: undefined } })
  }

  #count(id: string, change: 1 | -1): void {
    const count = (this.#requests.get(id) ?? 0) + change
    if (count > 0) this.#requests.set(id, count)
    else this.#requests.delete(id)
  }
}

export function messageTopic({ Controller: controller = 'Platform', Topic: topic }: JsonObject): string {
  return `${controller}/${topic}`
}
