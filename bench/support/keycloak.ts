/** Keycloak in production mode with its embedded database, and a realm with the client and the user of the identity measurements. */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { keycloakFolder } from './fetched-peers.ts'
import { type LaunchOptions, launch, newPort, type Program, temporaryFolder } from './program.ts'

export interface Keycloak {
  readonly port: number
  start(options?: LaunchOptions): Promise<Program>
  remove(): Promise<void>
}

export const KEYCLOAK = 'Keycloak'
export const REALM = '/realms/bench'
export const OPENID = `${REALM}/protocol/openid-connect`

/** A copy with data of its own; undefined if Keycloak cannot be fetched. */
export async function prepareKeycloak(client: string, secret: string): Promise<Keycloak | undefined> {
  const distribution = keycloakFolder()
  if (distribution === undefined) return undefined
  const folder = await temporaryFolder()
  const home = join(folder.path, 'keycloak')
  await cp(distribution, home, { recursive: true })
  await mkdir(join(home, 'data/import'), { recursive: true })
  await writeFile(join(home, 'data/import/bench.json'), JSON.stringify(realm(client, secret)))
  const port = newPort()
  // Its name is fixed: with that of the Host header, which has no port in measured requests, its own tokens would not be valid.
  const flags = ['--optimized', '--http-enabled=true', `--http-port=${port}`, `--hostname=http://127.0.0.1:${port}`]
  const args = [
    join(home, 'bin/kc.sh'),
    'start',
    ...flags,
    '--http-management-port',
    String(newPort()),
    '--import-realm',
  ]
  return {
    port,
    start: (options = {}) => launch('sh', args, { quiet: true, ...options }),
    remove: folder.remove,
  }
}

function realm(client: string, secret: string): object {
  return {
    realm: 'bench',
    enabled: true,
    sslRequired: 'none',
    accessTokenLifespan: 3600,
    ssoSessionIdleTimeout: 36_000,
    // As ours: a refresh token is used once.
    revokeRefreshToken: true,
    refreshTokenMaxReuse: 0,
    clients: [
      {
        clientId: client,
        secret,
        enabled: true,
        publicClient: false,
        serviceAccountsEnabled: true,
        directAccessGrantsEnabled: true,
      },
    ],
    users: [
      {
        username: client,
        enabled: true,
        firstName: 'Bench',
        lastName: 'Bench',
        email: 'bench@example.com',
        emailVerified: true,
        credentials: [{ type: 'password', value: secret, temporary: false }],
      },
    ],
  }
}
