/** The bus carries what one part changes to every part, on every node, that must feel it at once. */
import type { GateEvent } from '../protocol/gate-event.ts'

export type { GateEvent }

export type Listener = (event: GateEvent) => void

export interface Bus {
  /** Resolves when the event is durable where the bus is durable, and this node's listeners have heard it. */
  publish(event: GateEvent): Promise<void>
  /** Returns the function that ends the subscription. */
  subscribe(listener: Listener): () => void
  /** Milliseconds since this node last knew that it had heard everything. */
  lag(): number
  close(): Promise<void>
}
