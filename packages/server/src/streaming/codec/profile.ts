/** The profiles of the protocol: what differs between the versions that a client can request. */

export interface Profile {
  readonly version: string
  /** The topic of the reply to AuthToken. */
  readonly signInReplyTopic: string
  readonly rejected: 'Reject' | 'Rejected'
  readonly showsExpiresIn: boolean
  /** Whether every successful result contains an AccessToken, not only the reply to AuthToken. */
  readonly alwaysShowsToken: boolean
  /** Whether replies and pushes contain `"Action":"Publish"`. */
  readonly writesDefaultAction: boolean
  /** Whether the answer to a confirmed Unsub contains `Confirm`; otherwise that marks an Unsub of the server. */
  readonly confirmsUnsub: boolean
  /** Whether the feeds have the classes and statuses of the clients of version 2. */
  readonly classifiesFeeds: boolean
}

const PROFILES: ReadonlyMap<number, Profile> = new Map([
  [
    1,
    {
      version: '1.x',
      signInReplyTopic: 'Identify',
      rejected: 'Reject',
      showsExpiresIn: false,
      alwaysShowsToken: false,
      writesDefaultAction: true,
      confirmsUnsub: true,
      classifiesFeeds: false,
    },
  ],
  [
    2,
    {
      version: '2.x',
      signInReplyTopic: 'AuthToken',
      rejected: 'Rejected',
      showsExpiresIn: true,
      alwaysShowsToken: true,
      writesDefaultAction: false,
      confirmsUnsub: false,
      classifiesFeeds: true,
    },
  ],
])

const NEWEST = '2.0'
const VERSION = /^\d{1,4}\.\d{1,4}$/

/** The newest profile if no version is requested; undefined if the version is malformed or unknown. */
export function profileFor(version: string = NEWEST): Profile | undefined {
  return VERSION.test(version) ? PROFILES.get(Number.parseInt(version, 10)) : undefined
}
