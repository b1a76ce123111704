/** Sign-in on the server: the browser holds the cookie of a session; tokens never leave this process. */

import { Router } from 'express'
import session from 'express-session'
import { Gatehouse, refreshToken } from 'gatehouse-client'
import * as oidc from 'openid-client'
import { clientId, clientSecret, gatehouse, origin, sessionSecret } from './settings.js'

const provider = await oidc.discovery(new URL(gatehouse), clientId, clientSecret, undefined, {
  // The demonstration has no certificate.
  execute: gatehouse.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
})
// Node 20 has no WebSocket.
const { WebSocket = (await import('ws')).default } = globalThis

/** By session; kept in memory, like the sessions: after a restart everybody signs in again. */
const visitors = new Map()

/** Who is signed in: `user`, and `gate`, which acts with the rights of this user. Undefined if nobody is. */
export function findVisitor(request) {
  return visitors.get(request.sessionID)
}

/** Ends the session of a browser. */
export async function forget(request) {
  findVisitor(request)?.gate.close()
  visitors.delete(request.sessionID)
  await new Promise((resolve) => request.session.destroy(resolve))
}

export const signIn = Router()

signIn.use(
  session({
    secret: sessionSecret,
    resave: false,
    saveUninitialized: false,
    cookie: { httpOnly: true, sameSite: 'lax', secure: origin.startsWith('https:') },
  }),
)

signIn.get('/sign-in', async (request, response) => {
  const [verifier, state] = [oidc.randomPKCECodeVerifier(), oidc.randomState()]
  request.session.signIn = { verifier, state }
  const address = oidc.buildAuthorizationUrl(provider, {
    redirect_uri: `${origin}/callback`,
    scope: 'openid profile offline_access Platform/Market',
    state,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  response.redirect(address.href)
})

signIn.get('/callback', (request, response, next) => {
  completeSignIn(request).then(() => response.redirect('/'), next)
})

signIn.post('/sign-out', (request, response, next) => {
  completeSignOut(request).then((address) => response.redirect(address), next)
})

async function completeSignIn(request) {
  const { verifier, state } = request.session.signIn ?? {}
  const tokens = await oidc.authorizationCodeGrant(provider, new URL(request.originalUrl, origin), {
    pkceCodeVerifier: verifier,
    expectedState: state,
  })
  const user = await oidc.fetchUserInfo(provider, tokens.access_token, tokens.claims().sub)
  // Another session, so that nobody can prepare one for somebody else.
  await new Promise((resolve, reject) => request.session.regenerate((error) => (error ? reject(error) : resolve())))
  request.session.user = user.sub
  const auth = refreshToken({ clientId, clientSecret, refreshToken: tokens.refresh_token })
  visitors.set(request.sessionID, {
    user,
    idToken: tokens.id_token,
    gate: new Gatehouse(gatehouse, { auth, WebSocket }),
  })
}

/** Resolves with the address that ends the session at the identity server too. */
async function completeSignOut(request) {
  const visitor = findVisitor(request)
  // Should the server be away, the user is signed out here in any case.
  await visitor?.gate.auth.signOut().catch(() => {})
  await forget(request)
  if (visitor === undefined) return '/'
  const parameters = { id_token_hint: visitor.idToken, post_logout_redirect_uri: `${origin}/` }
  return oidc.buildEndSessionUrl(provider, parameters).href
}
