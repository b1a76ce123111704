/** The one-time link for the first administrator of an installation. */
import { hasAdministrator } from '../store/accounts/administrators.ts'
import { linkUrl } from '../store/accounts/set-up-links.ts'
import type { Resources } from './resources.ts'

export interface AdministratorLink {
  readonly url: string
  readonly expiresAt: number
}

/** Replaces the link of an earlier start; undefined where there is an administrator. */
export async function offerAdministrator(
  { stores, database, clock, audit, node }: Resources,
  issuer: string,
): Promise<AdministratorLink | undefined> {
  if (await hasAdministrator(stores)) return undefined
  const { changeAccounts } = await import('../accounts/accounts.ts')
  const env = { database, clock, audit, receive: () => {}, mail: undefined, localSignIn: () => 'all' as const }
  const made = await changeAccounts(env, { source: `node:${node}` }, (accounts) => accounts.issueAdministratorLink())
  return made && { url: linkUrl(issuer, made.token), expiresAt: made.link.expiresAt }
}
