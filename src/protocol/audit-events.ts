/** Everything the audit log can tell: each event's name, what it means, and the details it may carry beside who, whom, where and when. */
export const AUDIT_EVENTS = {
  'signin.succeeded': event('A user signed in.', 'methods', 'session'),
  'signin.refused': event(
    'A sign-in failed. The typed name is kept only where such a user exists.',
    'reason',
    'username',
    'methods',
  ),
  'signin.delayed': event(
    'Too many failures: an account or address must wait before its next try.',
    'scope',
    'seconds',
    'failures',
  ),
  'signout.succeeded': event('A user signed out.', 'session', 'clients'),
  'session.ended': event('A browser session was ended by its user or an operator.', 'session', 'reason'),
  'factor.added': event('A second factor was enrolled.', 'kind', 'factor', 'label'),
  'factor.removed': event('A second factor was removed.', 'kind', 'factor', 'label', 'reason'),
  'password.changed': event('A user changed the password.', 'reason'),
  'password.reset': event('An operator set or cleared a password.', 'reason'),
  'authorization.granted': event(
    'The authorization endpoint gave a code or tokens.',
    'response_type',
    'scope',
    'grant',
  ),
  'authorization.refused': event('The authorization endpoint refused.', 'response_type', 'error', 'reason'),
  'consent.granted': event('A user allowed a client these scopes.', 'scope'),
  'consent.refused': event('A user declined what a client asked for.', 'scope'),
  'consent.withdrawn': event(
    'What a client was allowed was taken back, and its grants revoked.',
    'client',
    'scope',
    'grants',
  ),
  'device.approved': event('A user let a device in.', 'scope', 'grant'),
  'device.refused': event('A user turned a device away.', 'scope'),
  'token.issued': event(
    'The token endpoint gave tokens for a person; refreshes and client credentials are only counted.',
    'grant_type',
    'scope',
    'token',
    'grant',
    'refresh',
  ),
  'token.refused': event('The token endpoint refused.', 'grant_type', 'error', 'reason'),
  'token.reused': event(
    'A spent code or refresh token came again; its whole grant was revoked.',
    'grant_type',
    'grant',
    'what',
  ),
  'token.revoked': event('A token was taken back.', 'token', 'grant', 'what'),
  'grant.revoked': event('A grant and all its tokens were taken back.', 'grant', 'reason'),
  'client.refused': event('A client failed to prove who it is.', 'method', 'reason'),
  'access.refused': event('A caller without the right was turned away.', 'method', 'path', 'needs', 'reason'),
  'stream.refused': event('A streaming connection was refused or failed to authenticate.', 'reason', 'provider'),
  'stream.kicked': event('An operator closed live streaming sessions.', 'connection', 'count'),
  'query.cancelled': event('A running query was cancelled by an operator.', 'query'),
  'query.defined': event(
    'A table or index was created, changed or dropped.',
    'statement',
    'table',
    'changed',
    'request',
  ),
  'user.created': event('A user was created.', 'changed', 'source'),
  'user.changed': event('A user was changed.', 'changed', 'source'),
  'user.disabled': event('A user was disabled and every token cut.', 'source'),
  'user.enabled': event('A user was enabled again.', 'source'),
  'user.deleted': event('A user was deleted.', 'source'),
  'role.created': event('A role was created.', 'changed', 'source'),
  'role.changed': event('A role was changed.', 'changed', 'source'),
  'role.deleted': event('A role was deleted.', 'source'),
  'client.created': event('A client was registered.', 'changed', 'source'),
  'client.changed': event('A client was changed.', 'changed', 'source'),
  'client.disabled': event('A client was disabled and every token cut.', 'source'),
  'client.enabled': event('A client was enabled again.', 'source'),
  'client.deleted': event('A client was deleted.', 'source'),
  'client.secret_added': event('A client received a further secret.', 'secret', 'expires', 'source'),
  'client.secret_removed': event('A client secret stopped working.', 'secret', 'source'),
  'key.created': event('A signing key was made.', 'kid', 'active_from', 'reason'),
  'key.retired': event('A signing key stopped signing.', 'kid', 'reason'),
  'declaration.applied': event('A declarative file was reconciled.', 'created', 'changed', 'deleted'),
  'backup.taken': event('A backup was written.', 'rows', 'bytes'),
  'backup.restored': event('This data came out of a backup.', 'rows', 'taken'),
  'audit.pruned': event(
    'Rows past their retention were removed; the chain goes on from this hash.',
    'through',
    'hash',
    'removed',
  ),
  'audit.exported': event('The audit log was read out.', 'rows'),
  'server.started': event('A node started.', 'version', 'services'),
  'server.stopped': event('A node stopped in good order.', 'version'),
} as const

export type AuditEventName = keyof typeof AUDIT_EVENTS
export type AuditValue = string | number | boolean | readonly string[]
export type AuditOutcome = 'success' | 'refused'

interface AuditFacts {
  /** Who did it: a user's or client's identifier; absent when nobody is known. */
  readonly actor?: string | undefined
  /** The client through which it was done. */
  readonly client?: string | undefined
  /** To whom or what, where that is not the actor. */
  readonly target?: string | undefined
  readonly address?: string | undefined
  readonly requestId?: string | undefined
}

/** One thing that happened. Only the details that the table names fit: a secret has no place to stand. */
export type AuditEvent = {
  readonly [Name in AuditEventName]: AuditFacts & {
    readonly event: Name
    readonly details?: { readonly [Member in (typeof AUDIT_EVENTS)[Name]['members'][number]]?: AuditValue | undefined }
  }
}[AuditEventName]

export interface Audit {
  /** Never throws and never waits: the row is durable within a second. */
  record(event: AuditEvent): void
}

/** For parts that run without a database, and for tests that do not look. */
export const noAudit: Audit = { record() {} }

export function outcomeOf(name: AuditEventName): AuditOutcome {
  return /\.(refused|delayed|reused)$/.test(name) ? 'refused' : 'success'
}

function event<const Member extends string>(meaning: string, ...members: Member[]) {
  return { meaning, members }
}
