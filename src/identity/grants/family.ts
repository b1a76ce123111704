/** Begins a family: the grant, and its first refresh token when it is for offline use. */
import type { Client } from '../../store/client-metadata.ts'
import type { Grant, NewGrant } from '../../store/grants.ts'
import type { GrantEnv } from './env.ts'

export async function beginFamily(
  grant: Omit<NewGrant, 'expiresAt'>,
  client: Client,
  env: GrantEnv,
): Promise<{ grant: Grant; refreshToken: string | undefined }> {
  const created = await env.stores.grants.create({
    ...grant,
    expiresAt: env.clock() + familyLifetime(grant.scopes, client, env),
  })
  return { grant: created, refreshToken: await firstRefreshToken(created, env) }
}

/** A grant that cannot be refreshed ends with its last access token. */
export function familyLifetime(
  scopes: readonly string[],
  client: Client,
  { lifetimes }: Pick<GrantEnv, 'lifetimes'>,
): number {
  if (scopes.includes('offline_access')) return lifetimes.refreshMs
  return client.accessTokenLifetime === undefined ? lifetimes.accessTokenMs : client.accessTokenLifetime * 1000
}

export async function firstRefreshToken(grant: Grant, env: GrantEnv): Promise<string | undefined> {
  if (!grant.scopes.includes('offline_access')) return undefined
  return env.stores.refreshTokens.issue(grant, env.lifetimes)
}
