/** OpenID Connect: sign-ins by the code flow, sign-outs in both directions, and the endpoints that a provider calls. */
import { Refusal } from 'gatehouse-protocol'
import type { Route } from '../../../http/route.ts'
import type { ConnectorKind, Federation } from '../connector.ts'
import { prove } from './answer.ts'
import { authorizationUrl } from './authorization-request.ts'
import { signOutUrl } from './end-session-request.ts'
import { backchannelLogoutRoute } from './logout-token.ts'
import { fetchOptions, type OpenIdProvider, readMetadata } from './metadata.ts'

export const OPENID: ConnectorKind<OpenIdProvider> = {
  open: (provider, env) => ({
    signInUrl: async (request) => authorizationUrl(provider, await readMetadata(provider, env), request, env),
    prove: (answer, expected) => prove(answer, expected, provider, env),
    signOutUrl: (signOut, state) => signOutUrl(signOut, state, provider, env),
  }),

  async check(provider, env) {
    const { jwksUri } = await readMetadata(provider, env)
    const found = await (await env.remoteKeys()).find(jwksUri, undefined, fetchOptions(provider))
    if (found.length === 0) throw new Error(`${jwksUri} has no key`)
  },

  advice: ({ id, issuer }) =>
    `Check that this machine reaches ${issuer} and that "gatehouse provider show ${id}" has its issuer as it writes it; a private address needs private.`,

  routes: (federation, env) => [
    { at: [], limit: 'pages', routes: [backchannelLogoutRoute(federation, env)] },
    { at: [], limit: 'pages', cors: '*', routes: [keysRoute(federation)] },
  ],
}

/** The public key of private_key_jwt (RFC 7517 §5). */
function keysRoute({ find }: Federation): Route {
  return {
    method: 'GET',
    path: '/external/:id/jwks',
    handle(http) {
      const provider = find(http.param('id'))
      if (provider?.kind !== 'openid') throw new Refusal('http.not_found', 404, 'There is no such provider')
      const { publicJwk } = provider.sealed
      http.setHeader('cache-control', 'public, max-age=300')
      http.json({ keys: publicJwk === undefined ? [] : [publicJwk] })
    },
  }
}
