/** The messages that a subscriber is being sent, and the memory that they take while they have to wait. */
import type { LiveMessage } from '../contract.ts'
import type { MemoryBudget, MemoryUser } from '../results/memory-budget.ts'
import { type LiveMessages, NO_MESSAGES } from '../results/messages.ts'

export class UnsentMessages {
  readonly #user: MemoryUser
  readonly #budget: Pick<MemoryBudget, 'hold' | 'letGo'>
  #messages: LiveMessages = NO_MESSAGES
  #sent = 0
  #isHeld = false

  constructor(user: MemoryUser, budget: Pick<MemoryBudget, 'hold' | 'letGo'>) {
    this.#user = user
    this.#budget = budget
  }

  get isEmpty(): boolean {
    return !this.#messages.has(this.#sent)
  }

  /** Whether some of these messages have been sent. */
  get isBegun(): boolean {
    return this.#sent > 0
  }

  /** False: the next message is encoded when it is taken. */
  get isEncoded(): boolean {
    return this.#messages.isEncoded
  }

  /** The next message, which is sent now. */
  take(): LiveMessage {
    return this.#messages.at(this.#sent++)
  }

  replace(messages: LiveMessages): void {
    const before = this.#messages
    messages.open()
    this.#messages = messages
    this.#sent = 0
    before.close()
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#budget.letGo(before, this.#user)
  }

  /** The messages have to wait: from now on their memory is charged to the owner of the subscriber. */
  hold(): void {
    this.#isHeld = true
    this.#budget.hold(this.#messages, this.#user)
  }
}
