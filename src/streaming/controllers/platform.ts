/** The `Platform` controller: describes the server and its feeds. */
import type { Controller, FeedClass } from '../controller.ts'
import type { Profile } from '../profile.ts'

/** The `Data` of messages, hence the wire names. */
export interface ServerInfo {
  readonly Name: string
  readonly Class: string
  readonly Version: string
}

/** What clients of version 2 take a feed without a class for: it carries messages, and nothing else is known of it. */
const DEFAULT_FEED_CLASS: FeedClass = 'Channel'

/** `controllers` are those whose topics are the feeds of the server. */
export function createPlatformController(info: ServerInfo, controllers: readonly Controller[]): Controller {
  const describeFeeds = ({ classifiesFeeds }: Profile): object[] =>
    controllers.map(({ name, feedClass = DEFAULT_FEED_CLASS }) =>
      classifiesFeeds
        ? { Name: name, Class: feedClass, Status: 'Active' }
        : { Name: name, Class: 'Controller', Status: 'Up' },
    )
  const describe = (profile: Profile): object => ({ ...info, Protocol: profile.version })
  return {
    name: 'Platform',
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
        summary: 'Pushes the feeds of this server, one for each controller, with their status.',
        needs: 'identity',
        subscription: { slow: 'latest', snapshot: ({ caller }) => describeFeeds(caller.profile) },
      },
    },
  }
}
