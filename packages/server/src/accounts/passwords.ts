/** Passwords: which ones there can be, and what follows from a new one. */
import { LONGEST_PASSWORD, SHORTEST_PASSWORD } from '../store/accounts/password-hash.ts'
import { cutUser } from './cut.ts'
import { actorFor, type Inside, isOwner } from './inside.ts'

export interface PasswordChange {
  /** The person has to choose another one at the next sign-in. */
  readonly mustChange?: boolean | undefined
  /** Nothing is changed if another password than that of this time is now current. */
  readonly since?: number | undefined
  /** Why the person had to or could choose it, for the audit log. */
  readonly reason?: string
  /** Without a mail, for a person who has chosen the first one. */
  readonly isFirst?: boolean
}

/** What is wrong with the length of a new password. */
export function passwordFault(password: string): 'too short' | 'too long' | undefined {
  if (password.length < SHORTEST_PASSWORD) return 'too short'
  return password.length > LONGEST_PASSWORD ? 'too long' : undefined
}

export function changePasswords(inside: Inside) {
  const { stores, author, record, notify } = inside
  return {
    /** C-67: ends all sessions and tokens of the user at once. False if the password has changed since. */
    async setPassword(
      userId: string,
      passwordHash: string,
      { mustChange = false, since, reason, isFirst = false }: PasswordChange = {},
    ): Promise<boolean> {
      if (!(await stores.users.setPassword(userId, passwordHash, { mustChange, since }))) return false
      await cutUser(userId, 'password changed', inside)
      if (!isFirst) await notify({ kind: 'password-changed', userId })
      const details = reason === undefined ? {} : { details: { reason } }
      if (isOwner(author)) record({ event: 'password.changed', actor: actorFor(userId, author), ...details })
      else record({ event: 'password.reset', target: userId, ...details })
      return true
    },
  }
}
