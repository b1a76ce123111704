/** An event bus within one process, for tests of services that run without an identity database. */
import type { Bus, Listener } from '../../packages/server/src/events/bus.ts'
import { deliver } from '../../packages/server/src/events/durable-bus.ts'

export function createLocalBus(onListenerError: (error: unknown) => void = rethrowLater): Bus {
  const listeners = new Set<Listener>()
  return {
    async publish(event) {
      deliver(event, listeners, onListenerError)
    },
    receive: ({ event }) => deliver(event, listeners, onListenerError),
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

function rethrowLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
