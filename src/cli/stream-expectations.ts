/** What is still to come from the server, by what was said to it: answers to requests, messages of subscriptions. */

export class Expectations {
  /** Unanswered requests by their id: a client may give the same to several. */
  readonly #unanswered = new Map<string, number>()
  readonly #subscribed = new Set<string>()

  get isNothing(): boolean {
    return this.#unanswered.size === 0 && this.#subscribed.size === 0
  }

  said(text: string): void {
    const message = membersOf(text)
    const { Action: action = 'Publish', TransactionID: id, Confirm: confirm } = message
    if (action === 'Sub') this.#subscribed.add(topicOf(message))
    // A subscription that succeeds is answered only if a confirmation was asked for; Cancel and Error never are.
    if (id !== undefined && (action === 'Publish' || confirm === true)) this.#count(String(id), 1)
  }

  heard(text: string): void {
    const message = membersOf(text)
    const { Action: action, TransactionID: id, Confirm: confirm } = message
    const isOver = action === 'Unsub' || (action === 'Sub' && confirm === false) || action === 'Error'
    if (isOver) this.#subscribed.delete(topicOf(message))
    // What is not confirmed has already been answered with an error.
    if (id !== undefined && confirm !== false) this.#count(String(id), -1)
  }

  #count(id: string, change: 1 | -1): void {
    const count = (this.#unanswered.get(id) ?? 0) + change
    if (count > 0) this.#unanswered.set(id, count)
    else this.#unanswered.delete(id)
  }
}

function topicOf({ Controller: controller = 'Platform', Topic: topic }: Record<string, unknown>): string {
  return `${controller}/${topic}`
}

/** Empty when it is not one object of JSON. */
export function membersOf(text: string): Record<string, unknown> {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null ? { ...message } : {}
  } catch {
    return {}
  }
}
