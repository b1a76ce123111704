/** The code to connect an application, by kind and library. */
import type { Kind } from './kinds.ts'
import { insecureOption, installLibrary, quote, type Snippet, type Values } from './snippet.ts'
import { deviceSnippets, serviceSnippets } from './snippets-programs.ts'

export function kindSnippets(kind: Kind, values: Values): readonly Snippet[] {
  switch (kind) {
    case 'spa':
      return [gatehousePage(values), oidcClientTs(values), curlCode(values, false)]
    case 'server':
      return [openidClientServer(values), authlib(values, true), curlCode(values, true)]
    case 'native':
      return [openidClientNative(values), authlib(values, false), curlCode(values, false)]
    case 'device':
      return deviceSnippets(values)
    case 'service':
      return serviceSnippets(values)
    case 'agent':
      return [claudeCode(values), curlCode(values, false)]
  }
}

function claudeCode({ issuer, clientId, redirectUri }: Values): Snippet {
  const port = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?\//.exec(redirectUri)?.[1] ?? '33418'
  return {
    title: 'Claude Code',
    file: 'In a shell',
    code: `claude mcp add --transport http gatehouse ${issuer}/mcp \\
  --client-id ${clientId} --callback-port ${port}
`,
    note: 'Type /mcp in Claude Code to sign in: a page asks what it may read.',
  }
}

function gatehousePage(values: Values): Snippet {
  const { issuer, clientId, redirectUri, signedOutUri, scope } = values
  const query = scope.includes('Platform/')
    ? `\n  console.table(await gate.query\`select name from cataloguetables\`)`
    : ''
  return {
    title: 'gatehouse-client',
    file: 'In the page',
    code: `import { browser, Gatehouse } from 'gatehouse-client'

const auth = browser({
  clientId: ${quote(clientId)},
  redirectUri: ${quote(redirectUri)},${signedOutUri === undefined ? '' : `\n  postLogoutRedirectUri: ${quote(signedOutUri)},`}
  scope: ${quote(scope)},
})
const gate = new Gatehouse(${quote(issuer)}, { auth })

try {
  // Also finishes a sign-in when the user comes back.
  if (!(await gate.auth.signedIn())) await gate.auth.signIn()
  console.log(await gate.auth.user())${query}
} catch (error) {
  // For example if the user has cancelled the sign-in.
  const again = document.createElement('button')
  again.textContent = 'Sign in'
  again.onclick = () => gate.auth.signIn()
  document.body.append(error.message, again)
}
`,
    install: installLibrary(values),
    note: `Without a bundler, import it from ${issuer}/client/gatehouse.js instead: the page needs no build and no package.`,
  }
}

function oidcClientTs({ issuer, clientId, redirectUri, signedOutUri, scope }: Values): Snippet {
  return {
    title: 'oidc-client-ts',
    install: 'npm install oidc-client-ts',
    file: 'In the page',
    code: `import { UserManager } from 'oidc-client-ts'

const manager = new UserManager({
  authority: ${quote(issuer)},
  client_id: ${quote(clientId)},
  redirect_uri: ${quote(redirectUri)},${signedOutUri === undefined ? '' : `\n  post_logout_redirect_uri: ${quote(signedOutUri)},`}
  scope: ${quote(scope)},
  // The names of the user are not in the ID token.
  loadUserInfo: true,
})

try {
  const isReturning = new URLSearchParams(location.search).has('state')
  const user = isReturning ? await manager.signinCallback() : await manager.getUser()
  if (user) console.log(user.profile)
  else await manager.signinRedirect()
} catch (error) {
  // For example if the user has cancelled the sign-in.
  const again = document.createElement('button')
  again.textContent = 'Sign in'
  again.onclick = () => manager.signinRedirect()
  document.body.append(error.message, again)
}
`,
  }
}

function openidClientServer(values: Values): Snippet {
  const { issuer, clientId, redirectUri, scope } = values
  const { pathname, origin } = new URL(redirectUri)
  return {
    title: 'openid-client',
    install: 'npm install openid-client express express-session',
    file: 'server.mjs (Node, Express)',
    code: `import express from 'express'
import session from 'express-session'
import * as oidc from 'openid-client'

const provider = await oidc.discovery(
  new URL(${quote(issuer)}),
  ${quote(clientId)},
  process.env.CLIENT_SECRET${insecureOption(values) === '' ? ',' : ',\n  undefined'}${insecureOption(values)}
)
const app = express()
app.use(session({ secret: process.env.SESSION_SECRET, resave: false, saveUninitialized: false }))

app.get('/sign-in', async (request, response) => {
  const verifier = oidc.randomPKCECodeVerifier()
  const state = oidc.randomState()
  request.session.signIn = { verifier, state }
  const url = oidc.buildAuthorizationUrl(provider, {
    redirect_uri: ${quote(redirectUri)},
    scope: ${quote(scope)},
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  })
  response.redirect(url.href)
})

app.get(${quote(pathname)}, async (request, response) => {
  try {
    const { verifier, state } = request.session.signIn ?? {}
    const tokens = await oidc.authorizationCodeGrant(provider, new URL(request.originalUrl, ${quote(origin)}), {
      pkceCodeVerifier: verifier,
      expectedState: state,
    })
    request.session.user = await oidc.fetchUserInfo(provider, tokens.access_token, tokens.claims().sub)
    response.send(\`Hello, \${request.session.user.name}\`)
  } catch (error) {
    // For example if the user has cancelled the sign-in.
    console.error(error)
    response.status(403).send('The sign-in did not succeed. <a href="/sign-in">Try again</a>')
  }
})

app.listen(${new URL(redirectUri).port || '3000'})
`,
    note: 'Start it with CLIENT_SECRET and SESSION_SECRET in its environment, and open /sign-in.',
  }
}

function openidClientNative(values: Values): Snippet {
  const { issuer, clientId, redirectUri, scope } = values
  const isLoopback = redirectUri.startsWith('http:')
  const { pathname } = isLoopback ? new URL(redirectUri) : { pathname: '/callback' }
  return {
    title: 'openid-client',
    install: 'npm install openid-client',
    file: 'sign-in.mjs (Node)',
    code: `import { createServer } from 'node:http'
import * as oidc from 'openid-client'

const provider = await oidc.discovery(new URL(${quote(issuer)}), ${quote(clientId)}, undefined, oidc.None()${insecureOption(values)})
const server = createServer().listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
// Any port of this computer is allowed.
const redirect_uri = \`http://127.0.0.1:\${server.address().port}${pathname}\`

const verifier = oidc.randomPKCECodeVerifier()
const state = oidc.randomState()
const url = oidc.buildAuthorizationUrl(provider, {
  redirect_uri,
  scope: ${quote(scope)},
  code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
  state,
})
console.log('Open', url.href)

server.on('request', async (request, response) => {
  try {
    const tokens = await oidc.authorizationCodeGrant(provider, new URL(request.url, redirect_uri), {
      pkceCodeVerifier: verifier,
      expectedState: state,
    })
    response.end('You can close this window.')
    server.close()
    console.log(tokens.claims())
  } catch (error) {
    // For example if the user has cancelled the sign-in.
    response.end('The sign-in did not succeed. Open the address again.')
    console.error(error.error_description ?? error.message)
  }
})
`,
    ...(isLoopback
      ? {}
      : {
          note: 'The code listens on this computer: register http://127.0.0.1/callback for it, in addition to the other address.',
        }),
  }
}

function authlib({ issuer, clientId, redirectUri, scope }: Values, isConfidential: boolean): Snippet {
  return {
    title: 'Python',
    install: 'pip install authlib requests',
    file: 'sign_in.py (Authlib)',
    code: `import os
import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session

gate = requests.get("${issuer}/.well-known/openid-configuration").json()
session = OAuth2Session(
    "${clientId}",
    ${isConfidential ? 'os.environ["CLIENT_SECRET"]' : 'token_endpoint_auth_method="none"'},
    scope="${scope}",
    redirect_uri="${redirectUri}",
    code_challenge_method="S256",
)
verifier = generate_token(48)
url, state = session.create_authorization_url(gate["authorization_endpoint"], code_verifier=verifier)
print("Open", url)
callback = input("The address you were redirected to: ")
session.fetch_token(gate["token_endpoint"], authorization_response=callback, state=state, code_verifier=verifier)
print(session.get(gate["userinfo_endpoint"]).json())
`,
  }
}

function curlCode({ issuer, clientId, redirectUri, scope }: Values, isConfidential: boolean): Snippet {
  return {
    title: 'curl',
    file: 'In a shell',
    code: `verifier=$(openssl rand -hex 32)
challenge=$(printf %s "$verifier" | openssl dgst -sha256 -binary | openssl base64 -A | tr '+/' '-_' | tr -d =)

# Open this address, sign in, and copy the code from the address to which you come back.
echo "${issuer}/connect/authorize?response_type=code&client_id=${encodeURIComponent(clientId)}&redirect_uri=${encodeURIComponent(redirectUri)}&scope=${encodeURIComponent(scope)}&code_challenge_method=S256&code_challenge=$challenge"
read -r code

curl ${issuer}/connect/token \\
${isConfidential ? `  --user "${clientId}:$CLIENT_SECRET"` : `  --data-urlencode client_id='${clientId}'`} \\
  --data grant_type=authorization_code \\
  --data-urlencode redirect_uri='${redirectUri}' \\
  --data-urlencode code="$code" \\
  --data-urlencode code_verifier="$verifier"
`,
  }
}
