/** The `Platform` controller: what this server is and which feeds it carries. */
import type { Controller } from '../controller.ts'
import type { Profile } from '../profile.ts'

/** Wire names: these objects are the `Data` of the messages. */
export interface ServerInfo {
  readonly Name: string
  readonly Class: string
  readonly Version: string
}

export interface Feed {
  readonly Name: string
  readonly Class: string
  readonly Status: 'Up' | 'Down'
}

export function createPlatformController(info: ServerInfo, feeds: () => readonly Feed[]): Controller {
  const describe = (profile: Profile): object => ({ ...info, Protocol: profile.version })
  return {
    name: 'Platform',
    summary: 'Tells what the server is and which feeds it carries.',
    topics: {
      ServerInfo: {
        summary: 'Pushes the name, class, version and protocol of the server.',
        needs: 'nothing',
        subscription: { slow: 'latest', snapshot: ({ caller }) => describe(caller.profile) },
      },
      QueryServerInfo: {
        summary: 'Answers with the name, class, version and protocol of the server.',
        needs: 'nothing',
        publish: ({ caller }) => describe(caller.profile),
      },
      Feeds: {
        summary: 'Pushes the feeds that this server carries, each a controller, with their status.',
        needs: 'identity',
        subscription: { slow: 'latest', snapshot: () => feeds() },
      },
    },
  }
}
