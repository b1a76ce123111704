/** Starts custom controllers before the gateway exists and before anything is written: if one fails, the start is refused. */
import type { Clock } from 'gatehouse-protocol'
import type { Controller } from '../topics/controller.ts'
import { Hub, topicKey } from '../topics/hub.ts'
import { BadController, describeError } from './load.ts'
import { Feeds, PLATFORM } from './platform.ts'
import { runAsServer, scoped } from './scope.ts'

export interface StartedControllers {
  readonly controllers: readonly Controller[]
  /** The status that they report of their feeds. */
  readonly feeds: Feeds
  /** Where they publish; the gateway adds the subscribers. */
  readonly hub: Hub
  stop(): void
}

/** Throws BadController after stopping the controllers that had started. `onFault` is called for each that fails to stop. */
export function startControllers(
  given: readonly Controller[],
  clock: Clock,
  onFault: (error: unknown, controller: string) => void,
): StartedControllers {
  const controllers = given.map(scoped)
  const hub = new Hub()
  const feeds = new Feeds(controllers)
  const stops: (readonly [name: string, stop: () => void])[] = []
  const stop = (): void => {
    for (const [name, each] of stops.splice(0)) {
      try {
        each()
      } catch (error) {
        onFault(error, name)
      }
    }
  }
  for (const controller of controllers) {
    const { name } = controller
    try {
      const stopThis = controller.start?.({
        clock,
        publish: (topic, data) => runAsServer(() => hub.publish(name, topic, data, clock())),
        subscribers: (topic) => hub.count(topicKey(name, topic)),
        setStatus(status) {
          if (!feeds.setStatus(name, status)) return
          runAsServer(() => hub.publishByProfile(PLATFORM, 'Feeds', (profile) => feeds.describe(profile), clock()))
        },
      })
      if (stopThis !== undefined) stops.push([name, stopThis])
    } catch (error) {
      stop()
      throw new BadController(`The controller ${name} could not start: ${describeError(error)}`, { cause: error })
    }
  }
  return { controllers, feeds, hub, stop }
}
