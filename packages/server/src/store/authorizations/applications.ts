/** The applications that may act for a user: by consent, or by a grant that needed none (password grant, first-party client). */

import type { Consents } from '../clients/consents.ts'
import type { Grants } from './grants.ts'

export interface Application {
  readonly clientId: string
  /** The scopes of the consent and of all current grants. */
  readonly scopes: readonly string[]
  /** Whether the user gave consent. */
  readonly isConsented: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ApplicationStores {
  readonly consents: Pick<Consents, 'listOfUser'>
  readonly grants: Pick<Grants, 'listClientsOfUser'>
}

export async function listApplications(
  { consents, grants }: ApplicationStores,
  userId: string,
): Promise<Application[]> {
  const [consented, granted] = await Promise.all([consents.listOfUser(userId), grants.listClientsOfUser(userId)])
  const applications = new Map<string, Application>()
  for (const consent of consented) applications.set(consent.clientId, { ...consent, isConsented: true })
  for (const grant of granted) {
    const known = applications.get(grant.clientId) ?? { ...grant, isConsented: false }
    applications.set(grant.clientId, {
      ...known,
      scopes: [...new Set([...known.scopes, ...grant.scopes])],
      createdAt: Math.min(known.createdAt, grant.createdAt),
      updatedAt: Math.max(known.updatedAt, grant.updatedAt),
    })
  }
  return [...applications.values()].sort((a, b) => (a.clientId < b.clientId ? -1 : 1))
}
