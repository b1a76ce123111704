/** The two ways in which clients of this protocol family expect the replies of `Auth`; the version in the address chooses. */

export interface Profile {
  readonly version: string
  /** The topic under which AuthToken is answered. */
  readonly signInReplyTopic: string
  readonly rejected: 'Reject' | 'Rejected'
  readonly showsExpiresIn: boolean
  /** Whether every successful result carries an AccessToken, not only the reply to AuthToken. */
  readonly alwaysShowsToken: boolean
}

const PROFILES: Readonly<Record<string, Profile>> = {
  1: {
    version: '1.x',
    signInReplyTopic: 'Identify',
    rejected: 'Reject',
    showsExpiresIn: false,
    alwaysShowsToken: false,
  },
  2: {
    version: '2.x',
    signInReplyTopic: 'AuthToken',
    rejected: 'Rejected',
    showsExpiresIn: true,
    alwaysShowsToken: true,
  },
}

const NEWEST = '2'
const VERSION = /^(?<major>\d{1,4})\.\d{1,4}$/

/** `version` absent asks for the newest; undefined means malformed or unknown. */
export function profileFor(version: string | null): Profile | undefined {
  const major = version === null ? NEWEST : VERSION.exec(version)?.groups?.major
  return major === undefined ? undefined : PROFILES[String(Number(major))]
}
