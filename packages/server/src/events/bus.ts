/** The event bus: notifies every part of every node of changes that take effect immediately, such as revocations. */
import type { GateEvent } from 'gatehouse-protocol'
import type { RecordedEvent } from '../store/cluster/events.ts'

export type { GateEvent }

/** A promise resolves when the event has taken effect. */
export type Listener = (event: GateEvent) => void | Promise<void>

export interface Bus {
  /** Resolves when the event is durable and the listeners of this node have received it. */
  publish(event: GateEvent): Promise<void>
  /** Delivers an event to this node that was recorded in a transaction, once that has committed. */
  receive(recorded: RecordedEvent): void
  /** Returns the function that unsubscribes. */
  subscribe(listener: Listener): () => void
  /** Resolves when the events that this node has received have taken effect. */
  settled(): Promise<void>
  /** Milliseconds since this node last knew that it had received everything. */
  lag(): number
  close(): Promise<void>
}
