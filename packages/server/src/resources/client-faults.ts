/** What a declared client cannot be, beyond its schema. */
import { originFault, redirectUriFault, secureAddressFault, webAddressFault } from 'gatehouse-protocol'
import type { Fault } from '../schema/check-schema.ts'
import { USER_ID_PREFIX } from '../store/accounts/user.ts'
import type { KnownScopes } from '../store/apis/known-scopes.ts'
import { BUILT_IN_CLIENT_IDS } from '../store/clients/built-in-clients.ts'
import { JWT_BEARER } from '../store/clients/client-metadata.ts'
import { assertionFaults } from './client-assertions.ts'
import { exchangeFaults } from './client-exchange.ts'
import { profileFaults } from './client-profile.ts'
import type { DeclaredClient } from './client-shape.ts'
import { repeated, unknownName } from './names.ts'

/** Rules of client registration (OpenID Connect Registration §2, RFC 7591 §2.1, RFC 9700). */
export function clientFaults(client: DeclaredClient, known: KnownScopes): Fault[] {
  const grants = client.grant_types ?? ['authorization_code']
  const isPublic = client.token_endpoint_auth_method === 'none'
  const faults: Fault[] = []
  const fault = (path: string, text: string) => faults.push({ path, text })

  if (client.client_id.startsWith(USER_ID_PREFIX))
    fault('client_id', `must not begin with ${USER_ID_PREFIX}, the prefix of user ids`)
  if (BUILT_IN_CLIENT_IDS.has(client.client_id)) fault('client_id', `${client.client_id} is built in: choose another`)
  if (isPublic && client.client_secret !== undefined)
    fault('client_secret', 'a client with token_endpoint_auth_method none has no secret')
  if (isPublic && grants.includes('client_credentials'))
    fault(`grant_types[${grants.indexOf('client_credentials')}]`, 'client_credentials requires a client secret')
  if (isPublic && grants.includes(JWT_BEARER))
    fault(
      `grant_types[${grants.indexOf(JWT_BEARER)}]`,
      'a client that presents assertions about users authenticates itself',
    )

  for (const [index, type] of (client.response_types ?? []).entries()) {
    const needed = type.split(' ').includes('code') ? 'authorization_code' : 'implicit'
    if (!grants.includes(needed)) fault(`response_types[${index}]`, `"${type}" requires ${needed} in grant_types`)
  }
  if (client.agent === true && client.skip_consent === true)
    fault('skip_consent', 'users consent to each connection of an agent: leave it out')
  const redirects = grants.includes('authorization_code') || grants.includes('implicit')
  if (redirects && (client.redirect_uris ?? []).length === 0)
    fault('redirect_uris', `needs at least one URI for the grant_types ${grants.join(', ')}`)

  const scopes = new Set<string>()
  for (const scope of client.scope?.split(' ') ?? []) {
    if (scope === '') fault('scope', 'scopes must be separated by single spaces')
    else if (!known.has(scope)) fault('scope', unknownName('scope', scope, known.scopes(), faults.length))
    else if (scopes.has(scope)) fault('scope', `"${scope}" is listed twice`)
    scopes.add(scope)
  }
  faults.push(
    ...repeated('redirect_uris', client.redirect_uris),
    ...repeated('grant_types', client.grant_types),
    ...repeated('response_types', client.response_types),
    ...ADDRESSES.flatMap(([name, findFault]) => addressFaults(name, client[name], findFault)),
    ...assertionFaults(client),
    ...exchangeFaults(client, known),
    ...profileFaults(client),
    ...(client.jwks?.keys ?? []).flatMap((key, index) =>
      'd' in key || 'k' in key
        ? [{ path: `jwks.keys[${index}]`, text: 'contains a private key; give only the public key' }]
        : [],
    ),
  )
  return faults
}

const ADDRESSES = [
  ['redirect_uris', redirectUriFault],
  ['post_logout_redirect_uris', redirectUriFault],
  ['frontchannel_logout_uri', webAddressFault],
  ['backchannel_logout_uri', webAddressFault],
  ['initiate_login_uri', secureAddressFault],
  ['jwks_uri', webAddressFault],
  ['client_uri', webAddressFault],
  ['logo_uri', webAddressFault],
  ['policy_uri', webAddressFault],
  ['tos_uri', webAddressFault],
  ['allowed_origins', originFault],
] as const satisfies readonly (readonly [keyof DeclaredClient, (text: string) => string | undefined])[]

function addressFaults(
  name: string,
  value: string | readonly string[] | undefined,
  findFault: (text: string) => string | undefined,
): Fault[] {
  if (value === undefined) return []
  const entries =
    typeof value === 'string'
      ? [[name, value] as const]
      : value.map((text, index) => [`${name}[${index}]`, text] as const)
  return entries.flatMap(([path, address]) => {
    const text = findFault(address)
    return text === undefined ? [] : [{ path, text: `"${address}": ${text}` }]
  })
}
