/** The code of programs without a page: devices and services. */
import { insecureOption, installLibrary, quote, type Snippet, type Values } from './snippet.ts'

const SECRET_NOTE = 'The code reads the secret from the environment: set CLIENT_SECRET before you start it.'

/** A first call that the scopes allow. A token is never printed: it would stay in logs and in the history of a terminal. */
function gatehouseCall({ scope }: Values): string {
  return mayQuery(scope)
    ? 'console.table(await gate.query`select name from cataloguetables`)'
    : "await gate.auth.token()\nconsole.log('Signed in')"
}

function openidClientCall({ issuer, scope }: Values): string {
  return mayQuery(scope)
    ? `const reply = await oidc.fetchProtectedResource(
  provider,
  tokens.access_token,
  new URL('${issuer}/query'),
  'POST',
  'SELECT name FROM cataloguetables',
  new Headers({ 'Content-Type': 'text/plain' }),
)
console.log((await reply.json()).Rows)`
    : `console.log(\`Signed in for \${tokens.expires_in} seconds\`)`
}

function pythonCall({ scope }: Values): string {
  return mayQuery(scope)
    ? `rows = requests.post(
    f"{gate}/query",
    headers={"Authorization": f"Bearer {token}", "Content-Type": "text/plain"},
    data="SELECT name FROM cataloguetables",
).json()["Rows"]
print(rows)`
    : 'print("Signed in")'
}

/** Reads a member of a JSON reply with a tool that every system has. */
const member = (name: string) => `sed 's/.*"${name}":"\\([^"]*\\)".*/\\1/'`

function curlCall({ issuer, scope }: Values): string {
  return mayQuery(scope)
    ? `curl ${issuer}/query \\
  --header "Authorization: Bearer $TOKEN" \\
  --header 'Content-Type: text/plain' \\
  --data 'SELECT name FROM cataloguetables'`
    : 'test -n "$TOKEN" && echo Signed in'
}

function mayQuery(scope: string): boolean {
  return scope.includes('Platform/')
}

export function deviceSnippets(values: Values): readonly Snippet[] {
  const { issuer, clientId, scope } = values
  return [
    {
      title: 'gatehouse-client',
      file: 'device.mjs (Node)',
      code: `import { device, Gatehouse } from 'gatehouse-client'

const auth = device({
  clientId: ${quote(clientId)},
  scope: ${quote(scope)},
  prompt: ({ url, userCode }) => console.log(\`Open \${url} and enter \${userCode}\`),
})
const gate = new Gatehouse(${quote(issuer)}, { auth })
${gatehouseCall(values)}
gate.close()
`,
      install: installLibrary(values),
    },
    {
      title: 'openid-client',
      install: 'npm install openid-client',
      file: 'device.mjs (Node)',
      code: `import * as oidc from 'openid-client'

const provider = await oidc.discovery(new URL(${quote(issuer)}), ${quote(clientId)}, undefined, oidc.None()${insecureOption(values)})
const started = await oidc.initiateDeviceAuthorization(provider, { scope: ${quote(scope)} })
console.log(\`Open \${started.verification_uri} and enter \${started.user_code}\`)
const tokens = await oidc.pollDeviceAuthorizationGrant(provider, started)
${openidClientCall(values)}
`,
    },
    {
      title: 'Python',
      install: 'pip install requests',
      file: 'device.py',
      code: `import time
import requests

gate = "${issuer}"
started = requests.post(f"{gate}/connect/deviceauthorization",
                        data={"client_id": "${clientId}", "scope": "${scope}"}).json()
print("Open", started["verification_uri"], "and enter", started["user_code"])
while True:
    time.sleep(started["interval"])
    reply = requests.post(f"{gate}/connect/token", data={
        "client_id": "${clientId}",
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
        "device_code": started["device_code"],
    }).json()
    if "access_token" in reply:
        token = reply["access_token"]
        break
    if reply["error"] not in ("authorization_pending", "slow_down"):
        raise SystemExit(reply["error_description"])
${pythonCall(values)}
`,
    },
    {
      title: 'curl',
      file: 'In a shell',
      code: `STARTED=$(curl --silent ${issuer}/connect/deviceauthorization \\
  --data-urlencode client_id='${clientId}' \\
  --data-urlencode scope='${scope}')
echo "$STARTED"

# Open verification_uri, enter user_code, then:
TOKEN=$(curl --silent ${issuer}/connect/token \\
  --data-urlencode client_id='${clientId}' \\
  --data grant_type=urn:ietf:params:oauth:grant-type:device_code \\
  --data-urlencode device_code="$(echo "$STARTED" | ${member('device_code')})" \\
  | ${member('access_token')})
${curlCall(values)}
`,
    },
  ]
}

export function serviceSnippets(values: Values): readonly Snippet[] {
  const { issuer, clientId, scope } = values
  return [
    {
      title: 'gatehouse-client',
      file: 'service.mjs (Node)',
      code: `import { clientCredentials, Gatehouse } from 'gatehouse-client'

const auth = clientCredentials({
  clientId: ${quote(clientId)},
  clientSecret: process.env.CLIENT_SECRET,
  scope: ${quote(scope)},
})
const gate = new Gatehouse(${quote(issuer)}, { auth })
${gatehouseCall(values)}
gate.close()
`,
      install: installLibrary(values),
      note: SECRET_NOTE,
    },
    {
      title: 'openid-client',
      install: 'npm install openid-client',
      file: 'service.mjs (Node)',
      code: `import * as oidc from 'openid-client'

const provider = await oidc.discovery(
  new URL(${quote(issuer)}),
  ${quote(clientId)},
  process.env.CLIENT_SECRET${insecureOption(values) === '' ? ',' : ',\n  undefined'}${insecureOption(values)}
)
const tokens = await oidc.clientCredentialsGrant(provider, { scope: ${quote(scope)} })
${openidClientCall(values)}
`,
      note: SECRET_NOTE,
    },
    {
      title: 'Python',
      install: 'pip install requests',
      file: 'service.py',
      code: `import os
import requests

gate = "${issuer}"
token = requests.post(
    f"{gate}/connect/token",
    auth=("${clientId}", os.environ["CLIENT_SECRET"]),
    data={"grant_type": "client_credentials", "scope": "${scope}"},
).json()["access_token"]
${pythonCall(values)}
`,
      note: SECRET_NOTE,
    },
    {
      title: 'curl',
      file: 'In a shell',
      code: `TOKEN=$(curl --silent ${issuer}/connect/token \\
  --user "${clientId}:$CLIENT_SECRET" \\
  --data grant_type=client_credentials \\
  --data-urlencode scope='${scope}' \\
  | ${member('access_token')})
${curlCall(values)}
`,
      note: SECRET_NOTE,
    },
  ]
}
