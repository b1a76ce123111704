/** The `Platform` controller: describes the server and its feeds. */

import type { FeedClass } from 'gatehouse-protocol'
import type { Profile } from '../codec/profile.ts'
import { type Controller, FEED_STATUSES, type FeedStatus } from '../topics/controller.ts'

/** The `Data` of messages, so the names are those of the wire. */
export interface ServerInfo {
  readonly Name: string
  readonly Class: string
  readonly Version: string
}

/** The class that clients of version 2 see for a feed without one: it carries messages, and nothing else is known about it. */
const DEFAULT_FEED_CLASS: FeedClass = 'Channel'

export const PLATFORM = 'Platform'

/** The feeds of a server, one for each controller, with their status. */
export class Feeds {
  readonly #fixed: readonly Controller[]
  #controllers: readonly Controller[]
  readonly #statuses = new Map<string, FeedStatus>()

  constructor(controllers: readonly Controller[]) {
    this.#fixed = controllers
    this.#controllers = controllers
  }

  /** Those of declared controllers, in place of those before. A name that a controller has already is left out. */
  setDeclared(controllers: readonly Controller[]): void {
    const taken = new Set(this.#fixed.map(({ name }) => name))
    this.#controllers = [...this.#fixed, ...controllers.filter(({ name }) => !taken.has(name))]
  }

  /** False if the feed has this status already. */
  setStatus(controller: string, status: FeedStatus): boolean {
    // Controllers may be JavaScript.
    if (!FEED_STATUSES.includes(status)) throw new TypeError(`A status is one of ${FEED_STATUSES.join(', ')}`)
    if (this.#findStatus(controller) === status) return false
    this.#statuses.set(controller, status)
    return true
  }

  describe({ classifiesFeeds }: Profile): object[] {
    return this.#controllers.map(({ name, feedClass = DEFAULT_FEED_CLASS }) => {
      const status = this.#findStatus(name)
      return classifiesFeeds
        ? { Name: name, Class: feedClass, Status: status }
        : { Name: name, Class: 'Controller', Status: status === 'Active' ? 'Up' : 'Down' }
    })
  }

  #findStatus(controller: string): FeedStatus {
    return this.#statuses.get(controller) ?? 'Active'
  }
}

export function createPlatformController(info: ServerInfo, feeds: Feeds): Controller {
  const describe = (profile: Profile): object => ({ ...info, Protocol: profile.version })
  return {
    name: PLATFORM,
    summary: 'Describes the server and its feeds.',
    topics: {
      ServerInfo: {
        summary: 'Pushes the name, class, version and protocol of the server.',
        needs: 'nothing',
        subscription: { slow: 'latest', snapshot: ({ caller }) => describe(caller.profile) },
      },
      QueryServerInfo: {
        summary: 'Replies with the name, class, version and protocol of the server.',
        needs: 'nothing',
        publish: ({ caller }) => describe(caller.profile),
      },
      Feeds: {
        summary:
          'Pushes the feeds of this server, one for each controller, with their status, now and whenever one changes.',
        needs: 'identity',
        subscription: { slow: 'latest', snapshot: ({ caller }) => feeds.describe(caller.profile) },
      },
    },
  }
}
