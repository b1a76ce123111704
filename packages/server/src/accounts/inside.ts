/** What the parts of the account service share within one transaction: the stores that write accounts, and what follows from a change. */
import type { AuditEvent } from 'gatehouse-protocol'
import type { RoleSource } from '../store/accounts/user.ts'
import type { AuditLog } from '../store/audit/audit.ts'
import type { Effects } from '../store/authorizations/change.ts'
import type { EventTransactionEnv } from '../store/cluster/event-transaction.ts'
import type { MailPort, Notice } from '../store/mail/notify.ts'
import type { WritableStores } from '../store/stores.ts'

export interface AccountsEnv extends EventTransactionEnv {
  readonly audit: Pick<AuditLog, 'append'>
  /** Undefined where no mail is set up. */
  readonly mail: Pick<MailPort, 'notify' | 'sendLink'> | undefined
  /** `break_glass`: passwords serve users for emergencies only, one of whom must be left. */
  localSignIn(): LocalSignIn
}

export type LocalSignIn = 'all' | 'break_glass'

/** Who makes a change, for the audit log and for mails that say where it was done. */
export interface Author {
  /** Through what it is made. A provider or SCIM client is also the source of the roles that it gives. */
  readonly source:
    | 'admin'
    | 'account'
    | 'file'
    | 'set-up link'
    | 'mail'
    | `node:${string}`
    | `provider:${string}`
    | `scim:${string}`
  /** The id of a user or client; undefined if nobody is known. */
  readonly actor?: string | undefined
  /** The client through which it is made. */
  readonly client?: string | undefined
  readonly address?: string | undefined
  readonly requestId?: string | undefined
  /** Of the person's own browser; undefined where somebody else acts. */
  readonly userAgent?: string | undefined
}

export interface Inside extends Effects {
  readonly stores: WritableStores
  readonly author: Author
  readonly mail: AccountsEnv['mail']
  readonly localSignIn: AccountsEnv['localSignIn']
  /** All grants and tokens of the user are revoked at the end of the transaction: those of many users with few events. */
  revokeTokens(userId: string): void
  /** To be called when a user for emergencies is changed: at the end of the transaction one must be left. */
  concernsEmergencies(): void
  /** With the facts of the author, unless the event has others. */
  record(event: AuditEvent): void
  /** With where it was done, if the person did it. */
  notify(notice: Omit<Notice, 'address' | 'userAgent'>): Promise<void>
}

/** The source of the roles that the author gives. */
export function givenRoleSource({ source }: Pick<Author, 'source'>): RoleSource {
  return isRoleSource(source) ? source : 'operator'
}

function isRoleSource(source: Author['source']): source is Author['source'] & RoleSource {
  return source.startsWith('provider:') || source.startsWith('scim:')
}

/** Whether people change their own account, in a browser. */
export function isOwner({ userAgent }: Author): boolean {
  return userAgent !== undefined
}

/** Who did what concerns this user: an owner who is not signed in yet is the user. */
export function actorFor(userId: string, author: Author): string | undefined {
  return author.actor ?? (isOwner(author) ? userId : undefined)
}

/** The SCIM client that makes the change. */
export function scimClient({ source }: Pick<Author, 'source'>): string {
  if (!source.startsWith('scim:')) throw new Error(`${source} is not a SCIM client`)
  return source.slice('scim:'.length)
}
