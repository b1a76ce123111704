/** Events of the audit log in plain words: `user.created` is “User created”. Independent of the page. */
import { AUDIT_EVENTS } from 'gatehouse-protocol'

/** What the two parts of a name do not say well. */
const TITLES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'signin.succeeded': 'Signed in',
    'signin.refused': 'Sign-in failed',
    'signin.delayed': 'Sign-in delayed',
    'signout.succeeded': 'Signed out',
    'password.reset': 'Password set by an operator',
    'link.refused': 'Invalid set-up link opened',
    'authorization.granted': 'Access granted',
    'authorization.refused': 'Access refused',
    'token.reused': 'Spent token used again',
    'client.refused': 'Application failed to authenticate',
    'client.created': 'Application registered',
    'access.refused': 'Missing right',
    'stream.kicked': 'Connection closed by an operator',
    'stepup.asked': 'Asked to sign in again',
    'query.defined': 'Table definition changed',
    'feed.purged': 'Messages of a feed deleted',
    'mail.retried': 'Mail tried again',
    'mail.tested': 'Test mail sent',
    'address.verified': 'E-mail address confirmed',
    'provider.key_created': 'Provider key created',
    'provider.refused': 'Sign-in through a provider failed',
    'provider.logout': 'Signed out by a provider',
    'identity.break_glass': 'Emergency sign-in with a password',
    'key.retired': 'Signing key retired',
    'declaration.applied': 'Declarative file applied',
    'data.moved': 'Data moved from another database',
    'audit.pruned': 'Old audit rows removed',
  }),
)

const NOUNS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    factor: 'Second factor',
    link: 'Set-up link',
    client: 'Application',
    proof: 'DPoP proof',
    stream: 'Stream',
    live: 'Live query',
    saved: 'Saved query or board',
    api: 'API',
    controller: 'Remote controller',
    key: 'Signing key',
    audit: 'Audit log',
  }),
)

export function titleOf(event: string): string {
  const known = TITLES.get(event)
  if (known !== undefined) return known
  const [noun = '', verb = ''] = event.split('.', 2)
  const subject = NOUNS.get(noun) ?? noun.charAt(0).toUpperCase() + noun.slice(1)
  return `${subject} ${verb.replaceAll('_', ' ')}`.trim()
}

/** The names that this version knows. */
export const EVENTS: readonly string[] = Object.keys(AUDIT_EVENTS)

const MEANINGS: ReadonlyMap<string, string> = new Map(
  Object.entries(AUDIT_EVENTS).map(([name, { meaning }]) => [name, meaning]),
)

/** A sentence; undefined for an event of a newer version. */
export function meaningOf(event: string): string | undefined {
  return MEANINGS.get(event)
}
