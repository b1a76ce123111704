/** An event bus within one process, for tests of services that run without an identity database. */
import type { Bus, Listener } from '../../packages/server/src/events/bus.ts'
import { Effects } from '../../packages/server/src/events/durable-bus.ts'

export function createLocalBus(onListenerError: (error: unknown) => void = rethrowLater): Bus {
  const listeners = new Set<Listener>()
  const effects = new Effects(onListenerError)
  return {
    async publish(event) {
      effects.deliver(event, listeners)
    },
    receive: ({ event }) => effects.deliver(event, listeners),
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    settled: () => effects.settled(),
    lag: () => 0,
    catchUp: () => effects.settled(),
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
