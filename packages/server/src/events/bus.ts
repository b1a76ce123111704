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
  /** Milliseconds since a moment of which this node knows that all that was recorded before it has taken effect here. */
  lag(): number
  /** Resolves when all that was recorded before the call has taken effect on this node. Rejects if that cannot be read. */
  catchUp(): Promise<void>
  close(): Promise<void>
}
