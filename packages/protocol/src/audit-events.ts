/** The events of the audit log: name, meaning and permitted details. */
export const AUDIT_EVENTS = {
  'signin.succeeded': event('A user signed in.', 'methods', 'session', 'provider'),
  'signin.refused': event(
    'A sign-in failed. The entered name is recorded only if the user exists.',
    'reason',
    'username',
    'methods',
  ),
  'signin.delayed': event(
    'After too many failures, the password or code was not checked. `scope` says what is delayed: `address`, `account`, `pair` (the account from this address) or `second factor`. The entered name is recorded only if the user exists.',
    'scope',
    'seconds',
    'username',
  ),
  'signout.succeeded': event('A user signed out.', 'session', 'clients'),
  'session.ended': event(
    'A browser session ended without a sign-out. The actor is who ended it; without one it expired, or nobody is known. `reason` says why, such as `user disabled`.',
    'session',
    'reason',
  ),
  'factor.added': change('A second factor was enrolled.', 'kind', 'factor', 'label'),
  'factor.removed': change('A second factor was removed.', 'kind', 'factor', 'label', 'reason'),
  'password.changed': change('A user changed their password.', 'reason'),
  'password.reset': change('An operator set or cleared a password.', 'reason'),
  'link.created': change('A one-time set-up link was created.', 'link', 'kind', 'expires'),
  'link.used': change('A one-time set-up link was used to choose a password.', 'link', 'kind'),
  'link.revoked': change('A one-time set-up link was revoked.', 'link', 'kind'),
  'link.refused': event('A one-time set-up link that is no longer valid was opened.', 'link', 'kind', 'reason'),
  'authorization.granted': event(
    'The authorization endpoint issued a code or tokens.',
    'response_type',
    'scope',
    'grant',
  ),
  'authorization.refused': event('The authorization endpoint refused a request.', 'response_type', 'error', 'reason'),
  'consent.granted': change('A user granted scopes to a client.', 'scope'),
  'consent.refused': event('A user refused consent to a client.', 'scope'),
  'consent.withdrawn': change(
    'Consent to a client was withdrawn, and its grants were revoked.',
    'client',
    'scope',
    'grants',
  ),
  'device.approved': event('A user approved a device.', 'scope', 'grant'),
  'device.refused': event('A user refused a device.', 'scope'),
  'token.issued': event(
    'The token endpoint issued tokens for a user. Refreshes and client credentials are counted in metrics only.',
    'grant_type',
    'scope',
    'token',
    'grant',
    'refresh',
  ),
  'token.exchanged': event(
    'An API exchanged the access token of a user for another one (RFC 8693).',
    'scope',
    'audience',
    'token',
    'subject_token',
    'depth',
  ),
  'token.refused': event('The token endpoint refused a request.', 'grant_type', 'error', 'reason'),
  'token.reused': event(
    'A spent code or refresh token was used again; its grant was revoked.',
    'grant_type',
    'grant',
    'what',
  ),
  'token.revoked': event('A token was revoked.', 'token', 'grant', 'what'),
  'grant.revoked': change('A grant and all its tokens were revoked.', 'grant', 'reason'),
  'client.refused': event('A client failed to authenticate.', 'method', 'reason'),
  'proof.refused': event(
    'A DPoP proof was refused. With an actor, the access token was valid: somebody else may be using it.',
    'reason',
    'path',
  ),
  'access.refused': event('A caller lacked the required scope.', 'method', 'path', 'needs', 'reason'),
  'wire.opened': event(
    "A tool signed in by PostgreSQL's protocol. The request id is that of the connection.",
    'method',
    'application',
  ),
  'wire.refused': event('A connection to the wire port was refused.', 'reason'),
  'wire.kicked': event('An operator closed connections to the wire port.', 'connection', 'count'),
  'wire.closed': event('A connection to the wire port ended.', 'reason'),
  'stream.refused': event('A streaming connection was refused or failed to authenticate.', 'reason', 'provider'),
  'stream.kicked': event('An operator closed streaming connections.', 'connection', 'count'),
  'query.cancelled': event('An operator cancelled a running query or ended a live statement.', 'query'),
  'stepup.asked': event(
    'A user was asked to sign in again, because the sign-in behind the access token was too weak or too old for what was requested.',
    'resource',
    'acr_values',
    'max_age',
  ),
  'live.refused': event('A live statement on a stream was refused: the caller has no platform scope.', 'reason'),
  'query.defined': change(
    'A table or index was created, changed or dropped. Of what a declarative file changes (`source` is `file`), only retention is here. `retention` is what it says from now on.',
    'statement',
    'table',
    'changed',
    'retention',
    'source',
    'request',
  ),
  'saved.shared': change('The sharing of a saved query or board was changed.', 'kind', 'shared'),
  'saved.changed': change(
    'An administrator changed a saved query or board of another user.',
    'kind',
    'owner',
    'changed',
  ),
  'saved.deleted': change(
    'An administrator deleted a saved query or board of another user.',
    'kind',
    'owner',
    'changed',
  ),
  'user.created': change('A user was created.', 'changed', 'source'),
  'user.changed': change('A user was changed.', 'changed', 'source'),
  'user.disabled': change('A user was disabled, and all tokens were revoked.', 'source'),
  'user.enabled': change('A user was enabled again.', 'source'),
  'user.deleted': change('A user was deleted.', 'source'),
  'role.created': change('A role was created.', 'changed', 'source'),
  'role.changed': change('A role was changed.', 'changed', 'source'),
  'role.deleted': change('A role was deleted.', 'source'),
  'client.created': change('A client was registered.', 'changed', 'source'),
  'client.changed': change('A client was changed.', 'changed', 'source'),
  'client.disabled': change('A client was disabled, and all tokens were revoked.', 'source'),
  'client.enabled': change('A client was enabled again.', 'source'),
  'client.deleted': change('A client was deleted.', 'source'),
  'client.secret_added': change('A secret was added to a client.', 'secret', 'expires', 'source'),
  'client.secret_removed': change('A client secret was removed.', 'secret', 'source'),
  'attribute.created': change('An attribute was declared.', 'source'),
  'attribute.changed': change('An attribute was changed.', 'changed', 'source'),
  'attribute.deleted': change('An attribute was removed, with its values.', 'source'),
  'client.token_added': change('A provisioning token was issued to a SCIM client.', 'token', 'expires', 'source'),
  'client.token_removed': change('A provisioning token of a SCIM client was revoked.', 'token', 'source'),
  'controller.created': change('A remote controller was declared.', 'url', 'source'),
  'controller.changed': change('A remote controller was changed.', 'url', 'changed', 'source'),
  'controller.deleted': change('A remote controller was removed.', 'source'),
  'api.created': change('An API was declared.', 'source'),
  'api.changed': change('An API was changed.', 'changed', 'source'),
  'api.deleted': change('An API was removed, with its scopes.', 'source'),
  'feed.created': change('A feed was declared.', 'source'),
  'feed.changed': change('A feed was changed.', 'changed', 'source'),
  'feed.deleted': change('A feed was deleted.', 'source'),
  'feed.purged': change('All messages of a feed were deleted.', 'source'),
  'agent.called': event(
    'An agent called a tool. `agent_audit` says what is recorded of the statement.',
    'tool',
    'tables',
    'feed',
    'topic',
    'rows',
    'ms',
    'statement',
    'digest',
  ),
  'product.created': change('A product of market data was declared.', 'source'),
  'product.changed': change('A product of market data was changed.', 'changed', 'source'),
  'product.deleted': change('A product of market data was removed, with its entitlements.', 'source'),
  'agreement.created': change('An agreement on market data was declared.', 'version', 'source'),
  'agreement.changed': change('An agreement on market data was changed.', 'version', 'changed', 'source'),
  'agreement.deleted': change('An agreement on market data was removed.', 'source'),
  'agreement.accepted': change(
    'A user accepted an agreement, or an operator recorded it for a user or client. The target is the agreement.',
    'holder',
    'version',
    'digest',
    'language',
    'note',
  ),
  'alert.created': change('An alert was made.', 'name', 'source'),
  'alert.changed': change('An alert was changed.', 'name', 'changed', 'source'),
  'alert.deleted': change('An alert was removed.', 'name', 'source'),
  'channel.created': change('A channel of alerts was declared.', 'kind', 'source'),
  'channel.changed': change('A channel of alerts was changed.', 'kind', 'changed', 'source'),
  'channel.deleted': change('A channel of alerts was removed.', 'source'),
  'channel.rotated': change('A channel of alerts got a new key.', 'source'),
  'channel.gone': change('The receiver of a channel answered 410, and the channel was disabled.', 'status'),
  'channel.tested': change('A test was sent to a channel of alerts.', 'delivered'),
  'entitlement.created': change('An entitlement to a product was given.', 'product', 'access', 'source'),
  'entitlement.changed': change('An entitlement to a product was changed.', 'product', 'access', 'changed', 'source'),
  'entitlement.deleted': change('An entitlement to a product was taken away.', 'source'),
  'licence.status': change(
    'A user said whether they use market data as a professional, or an operator recorded it. The target is the user.',
    'professional',
    'set_by',
  ),
  'licence.opened': event(
    'A user or client began to use a product. `place` is a digest of the sign-in or program, `way` how it is used; the rest is what the usage report needs.',
    'session',
    'access',
    'place',
    'way',
    'status',
    'kind',
    'count',
    'firm',
  ),
  'licence.closed': event(
    'A use of a product ended. `last` is when it was used last; `reason` is idle, changed, displaced or stopped.',
    'session',
    'last',
    'reason',
  ),
  'usage.closed': change('The usage report of a month was closed. The target is the month.', 'digest', 'head'),
  'licence.trial': change('A user began a trial of a product.', 'until'),
  'columns.rebuilt': change('The column segments of a table are written anew.', 'table'),
  'table.held': change('A table is held: none of its rows can be deleted.', 'table', 'source'),
  'table.released': change('A table is no longer held.', 'table', 'source'),
  'retention.erased': change(
    'Rows of a person were deleted, also those that a retention had closed. `where` is the condition, without the values of its parameters.',
    'table',
    'rows',
    'where',
    'reason',
  ),
  'retention.cut': event(
    'Rows before the cut of a retention were deleted, in the last hour at most. `oldest` is the time of the oldest of them.',
    'table',
    'rows',
    'oldest',
    'cut',
  ),
  'view.rebuilt': change('A materialized view is evaluated anew as a whole.', 'view', 'wrong'),
  'mail.sent': event('The mail server took a mail.', 'mail', 'kind'),
  'mail.failed': event(
    'A mail was given up: the mail server refused it, or it was too late.',
    'mail',
    'kind',
    'reason',
  ),
  'mail.refused': event('A mail was not sent, because its mailbox has got too many.', 'mail', 'kind', 'reason'),
  'mail.queued': change('An operator had a link sent by mail.', 'kind', 'link'),
  'mail.retried': change('An operator had a waiting mail tried again at once.', 'mail', 'kind'),
  'mail.removed': change('An operator removed a waiting mail.', 'mail', 'kind'),
  'mail.tested': change('An operator sent a test mail.', 'reason'),
  'address.verified': change('A user confirmed an e-mail address with a mailed link.', 'reason'),
  'agent.allowed': change('Agents were allowed: those of a host, one, or all.', 'source'),
  'agent.changed': change('What allowed agents may ask for was changed.', 'changed', 'source'),
  'agent.removed': change('Agents are not allowed any longer: their grants have ended.', 'source'),
  'agent.refused': event(
    'An agent that is not allowed asked for access. The target is its host, the actor who connected it.',
    'client_id',
  ),
  'provider.created': change('Another OpenID provider was declared.', 'source'),
  'provider.changed': change('Another OpenID provider was changed.', 'changed', 'source'),
  'provider.deleted': change('Another OpenID provider was removed, with the identities of users there.', 'source'),
  'provider.key_created': change('A new key pair for a provider was made.', 'kid', 'source'),
  'provider.refused': event(
    'A sign-in through another provider failed. `reason` is the code that the person was shown.',
    'provider',
    'reason',
  ),
  'provider.logout': event('Another provider ended the sessions of a user.', 'provider', 'sessions'),
  'identity.linked': change(
    'An identity at another provider was linked to a user. `reason` says how: account, sign-in, invitation, scim or created.',
    'provider',
    'identity',
    'reason',
  ),
  'identity.unlinked': change(
    'An identity at another provider was unlinked from a user.',
    'provider',
    'identity',
    'source',
  ),
  'identity.break_glass': event('A user signed in with a password where others need a provider.', 'session'),
  'key.created': change('A signing key was created.', 'kid', 'alg', 'active_from', 'reason'),
  'key.retired': change('A signing key stopped signing.', 'kid', 'reason'),
  'declaration.applied': change('A declarative file was reconciled.', 'created', 'changed', 'deleted'),
  'backup.taken': event('A backup was written.', 'rows', 'bytes'),
  'backup.restored': change('The data was restored from a backup.', 'rows', 'taken'),
  'backup.verified': event(
    'What was sent to backup_url was restored beside the data, and checked.',
    'moment',
    'rows',
    'bytes',
  ),
  'backup.interrupted': event('Changes are no longer kept for backup_url; `reason` says why.', 'reason'),
  'data.moved': change('The data was moved here from another database.', 'rows', 'source'),
  'audit.pruned': event(
    'Rows older than the retention period were removed; the chain continues from this hash.',
    'through',
    'hash',
    'removed',
  ),
  'audit.exported': event('The audit log was exported.', 'rows'),
  'server.started': event('A node started.', 'version', 'services'),
  'server.stopped': event('A node shut down normally.', 'version'),
} as const

export type AuditEventName = keyof typeof AUDIT_EVENTS
/** The names of the changes. */
export const CHANGES: readonly string[] = Object.entries(AUDIT_EVENTS).flatMap(([name, { isChange }]) =>
  isChange ? [name] : [],
)
export type AuditValue = string | number | boolean | readonly string[]
export type AuditOutcome = 'success' | 'refused'

interface AuditFacts {
  /** The id of the user or client who did it; absent when unknown. */
  readonly actor?: string | undefined
  /** The client through which it was done. */
  readonly client?: string | undefined
  /** The id of the affected user or object, if it is not the actor. */
  readonly target?: string | undefined
  readonly address?: string | undefined
  readonly requestId?: string | undefined
}

/** One event. The type admits only the details in the table, so that no secret can be logged by accident. */
export type AuditEvent = {
  readonly [Name in AuditEventName]: AuditFacts & {
    readonly event: Name
    readonly details?: { readonly [Member in (typeof AUDIT_EVENTS)[Name]['members'][number]]?: AuditValue | undefined }
  }
}[AuditEventName]

export interface Audit {
  /** Does not throw or wait; the row is durable within a second. */
  record(event: AuditEvent): void
}

/** Discards events: for services without an identity database, and for tests. */
export const noAudit: Audit = { record() {} }

export function auditOutcome(name: AuditEventName): AuditOutcome {
  return /\.(refused|delayed|reused)$/.test(name) ? 'refused' : 'success'
}

function event<const Member extends string>(meaning: string, ...members: Member[]) {
  return { meaning, members, isChange: false }
}

/** What an operator or a person changed, as opposed to sign-ins, refusals and automatic actions of the server. */
function change<const Member extends string>(meaning: string, ...members: Member[]) {
  return { meaning, members, isChange: true }
}
