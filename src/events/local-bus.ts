/** The bus of a single node: events reach the listeners of this process in the order of their publication. */
import type { Bus, GateEvent, Listener } from './bus.ts'

export function createLocalBus(onListenerError: (error: unknown) => void = rethrowLater): Bus {
  const listeners = new Set<Listener>()
  return {
    async publish(event) {
      deliver(event, listeners, onListenerError)
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    lag: () => 0,
    async close() {
      listeners.clear()
    },
  }
}

/** One listener's failure never keeps the event from the next. */
export function deliver(event: GateEvent, listeners: Iterable<Listener>, onError: (error: unknown) => void): void {
  for (const listener of listeners) {
    try {
      listener(event)
    } catch (error) {
      onError(error)
    }
  }
}

function rethrowLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
