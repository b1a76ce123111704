/** The one-time link for the first administrator of an installation. */
import { newAdministratorLink } from '../store/accounts/administrators.ts'
import { linkUrl } from '../store/accounts/set-up-links.ts'
import type { Resources } from './resources.ts'

export interface AdministratorLink {
  readonly url: string
  readonly expiresAt: number
}

/** Replaces the link of an earlier start; undefined where there is an administrator. */
export async function offerAdministrator(
  { stores, audit, node }: Resources,
  issuer: string,
): Promise<AdministratorLink | undefined> {
  const made = await newAdministratorLink(stores, `node:${node}`)
  if (made === undefined) return undefined
  const { id: link, kind, expiresAt } = made.link
  audit.record({ event: 'link.created', details: { link, kind, expires: new Date(expiresAt).toISOString() } })
  return { url: linkUrl(issuer, made.token), expiresAt }
}
