/** One-time set-up links: issued, used and revoked. */
import { ADDRESS_FORM, isMailAddress } from '../lib/mail-address.ts'
import { administratorRole, hasAdministrator, newAdministratorLink } from '../store/accounts/administrators.ts'
import type { SetUpLink } from '../store/accounts/set-up-links.ts'
import type { User } from '../store/accounts/user.ts'
import { AccountFault } from './account-fault.ts'
import { actorFor, type Inside } from './inside.ts'
import { type AddedUser, changeUsers } from './users.ts'

export interface WantedLink {
  readonly lifetimeMs: number
  /** Mailed to the user instead of being shown. */
  readonly isMailed: boolean
}

export interface IssuedLink {
  readonly link: SetUpLink
  /** It is not stored. */
  readonly token: string
}

export function changeSetUpLinks(inside: Inside) {
  const { stores, author, mail, record, revocations } = inside
  const { createUser } = changeUsers(inside)
  const createdBy = author.actor ?? author.source
  return {
    /** For an invited user, or one who has forgotten the password. It replaces earlier ones. */
    async issueLink(user: User, { lifetimeMs, isMailed }: WantedLink): Promise<IssuedLink> {
      const { id: userId, username, disabled, passwordHash } = user
      if (disabled) throw new AccountFault('user-disabled', `The user ${username} is disabled: enable them first`)
      const kind = passwordHash === undefined ? 'invitation' : 'reset'
      const mailedTo = isMailed ? requireAddress(user) : undefined
      const made = await stores.setUpLinks.create({ kind, userId, createdBy, lifetimeMs, mailedTo })
      recordIssued(made.link)
      if (mailedTo !== undefined) {
        const { token, link } = made
        await mail?.sendLink(stores, { kind, userId, to: mailedTo, token, expiresAt: link.expiresAt })
        record({ event: 'mail.queued', target: userId, details: { kind, link: link.id } })
      }
      return made
    },

    /** For the first administrator; undefined where there is one. */
    async issueAdministratorLink(): Promise<IssuedLink | undefined> {
      const made = await newAdministratorLink(stores, createdBy)
      if (made !== undefined) recordIssued(made.link)
      return made
    },

    /** For a password that was forgotten: the mail to a verified address is about to be sent. */
    async issueForgottenLink({ id: userId }: User, mailedTo: string, lifetimeMs: number): Promise<IssuedLink> {
      const made = await stores.setUpLinks.create({ kind: 'reset', userId, createdBy: userId, lifetimeMs, mailedTo })
      recordIssued(made.link)
      return made
    },

    /** The first administrator, with a role that administers. Returns the id; undefined if the link cannot be used. */
    async createAdministrator(
      token: string,
      user: Pick<AddedUser, 'username' | 'passwordHash'>,
    ): Promise<string | undefined> {
      if ((await spendLink(token)) === undefined || (await hasAdministrator(stores))) return undefined
      const { role, isNew } = administratorRole(await stores.roles.list())
      if (isNew) {
        await stores.roles.put(role)
        await revocations.limitRoles(stores, 'created')
      }
      const id = await createUser({ ...user, roles: [role.name] })
      if (isNew) record({ event: 'role.created', actor: id, target: role.name, details: { source: author.source } })
      return id
    },

    spendLink,

    /** False if it was not open. */
    async revokeLink({ id, kind, userId }: Pick<SetUpLink, 'id' | 'kind' | 'userId'>): Promise<boolean> {
      if (!(await stores.setUpLinks.revoke(id))) return false
      record({ event: 'link.revoked', target: userId, details: { link: id, kind } })
      return true
    },
  }

  /** Undefined if it is not open any more. Of several callers one gets it. */
  async function spendLink(token: string): Promise<SetUpLink | undefined> {
    const link = await stores.setUpLinks.spend(token)
    if (link === undefined) return undefined
    const { id, kind, userId: target } = link
    const actor = target === undefined ? undefined : actorFor(target, author)
    record({ event: 'link.used', actor, target, details: { link: id, kind } })
    return link
  }

  function recordIssued({ id, kind, userId, expiresAt }: SetUpLink): void {
    const expires = new Date(expiresAt).toISOString()
    record({ event: 'link.created', target: userId, details: { link: id, kind, expires } })
  }
}

function requireAddress({ username, profile, passwordHash }: User): string {
  const { email, email_verified: isVerified } = profile
  if (typeof email !== 'string' || !isMailAddress(email))
    throw new AccountFault(
      'no-address',
      `The user ${username} has no e-mail address that mail is sent to: ${ADDRESS_FORM}`,
    )
  // An unconfirmed address may be somebody else's, who must not get an account that is in use.
  if (passwordHash !== undefined && isVerified !== true)
    throw new AccountFault(
      'no-address',
      `The e-mail address of ${username} is not verified: set email_verified, or pass the link on yourself`,
    )
  return email
}
