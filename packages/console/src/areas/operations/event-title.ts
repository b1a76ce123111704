/** Events of the audit log in plain words: `user.created` is “User created”. Independent of the page. */
import { AUDIT_EVENTS, type AuditEventName } from 'gatehouse-protocol'
import { word } from '../../ui/word.ts'

const TITLES: Readonly<Record<AuditEventName, string>> = {
  'signin.succeeded': 'Signed in',
  'signin.refused': word('Sign-in failed'),
  'signin.delayed': word('Sign-in delayed'),
  'signout.succeeded': 'Signed out',
  'session.ended': 'Session ended',
  'factor.added': 'Second factor added',
  'factor.removed': 'Second factor removed',
  'password.changed': 'Password changed',
  'password.reset': 'Password set by an operator',
  'link.created': word('Set-up link created'),
  'link.used': word('Set-up link used'),
  'link.revoked': word('Set-up link revoked'),
  'link.refused': 'Invalid set-up link opened',
  'authorization.granted': 'Access granted',
  'authorization.refused': 'Access refused',
  'consent.granted': 'Consent granted',
  'consent.refused': 'Consent refused',
  'consent.withdrawn': 'Consent withdrawn',
  'device.approved': 'Device approved',
  'device.refused': 'Device refused',
  'token.issued': 'Token issued',
  'token.exchanged': 'Token exchanged',
  'token.refused': 'Token refused',
  'token.reused': 'Spent token used again',
  'token.revoked': 'Token revoked',
  'grant.revoked': 'Grant revoked',
  'client.refused': 'Application failed to authenticate',
  'proof.refused': word('DPoP proof refused'),
  'access.refused': 'Missing right',
  'wire.opened': 'SQL tool connected',
  'wire.refused': 'SQL tool refused',
  'wire.kicked': 'SQL tool disconnected by an operator',
  'wire.closed': 'SQL tool disconnected',
  'stream.refused': 'Stream refused',
  'stream.kicked': 'Connection closed by an operator',
  'query.cancelled': 'Query cancelled',
  'stepup.asked': 'Asked to sign in again',
  'live.refused': 'Live query refused',
  'query.defined': 'Table definition changed',
  'saved.shared': 'Saved query or board shared',
  'saved.changed': 'Saved query or board changed',
  'saved.deleted': 'Saved query or board deleted',
  'user.created': 'User created',
  'user.changed': 'User changed',
  'user.disabled': 'User disabled',
  'user.enabled': 'User enabled',
  'user.deleted': 'User deleted',
  'role.created': 'Role created',
  'role.changed': 'Role changed',
  'role.deleted': 'Role deleted',
  'client.created': 'Application registered',
  'client.changed': 'Application changed',
  'client.disabled': 'Application disabled',
  'client.enabled': 'Application enabled',
  'client.deleted': 'Application deleted',
  'client.secret_added': 'Application secret added',
  'client.secret_removed': 'Application secret removed',
  'attribute.created': 'Attribute created',
  'attribute.changed': 'Attribute changed',
  'attribute.deleted': 'Attribute deleted',
  'client.token_added': 'Application token added',
  'client.token_removed': 'Application token removed',
  'controller.created': 'Remote controller created',
  'controller.changed': 'Remote controller changed',
  'controller.deleted': 'Remote controller deleted',
  'agent.allowed': 'Agents allowed',
  'agent.changed': 'Rights of agents changed',
  'agent.removed': 'Agents not allowed any longer',
  'agent.refused': word('Agent that is not allowed'),
  'api.created': word('API created'),
  'api.changed': word('API changed'),
  'api.deleted': word('API deleted'),
  'feed.created': 'Feed created',
  'feed.changed': 'Feed changed',
  'feed.deleted': 'Feed deleted',
  'feed.purged': 'Messages of a feed deleted',
  'agent.called': 'An agent called a tool',
  'product.created': 'Product created',
  'product.changed': 'Product changed',
  'product.deleted': 'Product deleted',
  'agreement.created': 'Agreement created',
  'agreement.changed': 'Agreement changed',
  'agreement.deleted': 'Agreement deleted',
  'agreement.accepted': 'Agreement accepted',
  'entitlement.created': 'Entitlement given',
  'entitlement.changed': 'Entitlement changed',
  'entitlement.deleted': 'Entitlement taken away',
  'licence.status': 'Professional status recorded',
  'licence.opened': 'Product in use',
  'licence.closed': 'Use of a product ended',
  'usage.closed': 'Usage report closed',
  'licence.trial': 'Trial begun',
  'columns.rebuilt': 'Column segments written anew',
  'table.held': 'Table held',
  'table.released': 'Table released',
  'retention.cut': 'Old rows deleted',
  'retention.erased': 'Rows of a person deleted',
  'mail.sent': 'Mail sent',
  'mail.failed': 'Mail failed',
  'mail.refused': 'Mail refused',
  'mail.queued': 'Mail queued',
  'mail.retried': 'Mail tried again',
  'mail.removed': 'Mail removed',
  'mail.tested': 'Test mail sent',
  'address.verified': word('E-mail address confirmed'),
  'provider.created': 'Provider created',
  'provider.changed': 'Provider changed',
  'provider.deleted': 'Provider deleted',
  'provider.key_created': 'Provider key created',
  'provider.refused': word('Sign-in through a provider failed'),
  'provider.logout': 'Signed out by a provider',
  'identity.linked': 'Identity linked',
  'identity.unlinked': 'Identity unlinked',
  'identity.break_glass': 'Emergency sign-in with a password',
  'key.created': 'Signing key created',
  'key.retired': 'Signing key retired',
  'declaration.applied': 'Declarative file applied',
  'backup.taken': 'Backup taken',
  'backup.verified': 'Replicated backup verified',
  'backup.interrupted': 'Replicated backup interrupted',
  'backup.restored': 'Backup restored',
  'data.moved': 'Data moved from another database',
  'audit.pruned': 'Old audit rows removed',
  'audit.exported': 'Audit log exported',
  'server.started': 'Server started',
  'server.stopped': 'Server stopped',
}

/** Of an event of a newer version: its name. */
export function eventTitle(event: string): string {
  return isKnown(event) ? TITLES[event] : event
}

function isKnown(event: string): event is AuditEventName {
  return Object.hasOwn(TITLES, event)
}

/** The names that this version knows. */
export const EVENTS: readonly string[] = Object.keys(AUDIT_EVENTS)

/** A sentence; undefined for an event of a newer version. */
export function eventMeaning(event: string): string | undefined {
  return isKnown(event) ? AUDIT_EVENTS[event].meaning : undefined
}

/** To choose from. */
export const OUTCOMES: readonly { readonly value: string; readonly title: string }[] = [
  { value: 'success', title: 'success' },
  { value: 'refused', title: 'refused' },
]

export function outcomeText(outcome: string): string {
  return OUTCOMES.find(({ value }) => value === outcome)?.title ?? outcome
}
