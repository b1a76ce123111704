/** The code of programs without a page: devices and services. */
import { insecureOption, LIBRARY_NOTE, quote, type Snippet, type Values } from './snippet.ts'

const SHOW_TOKEN = 'console.log(await gate.auth.token())'

/** A first call that the scopes allow. */
function firstCall(scope: string): string {
  return scope.includes('Platform/') ? 'console.table(await gate.query`select name from cataloguetables`)' : SHOW_TOKEN
}

function curlCall({ issuer, scope }: Values): string {
  if (!scope.includes('Platform/')) return ''
  return `
curl ${issuer}/query \\
  --header "Authorization: Bearer $TOKEN" \\
  --header 'Content-Type: text/plain' \\
  --data 'SELECT name FROM cataloguetables'
`
}

export function deviceSnippets(values: Values): readonly Snippet[] {
  const { issuer, clientId, scope } = values
  return [
    {
      title: '@gatehouse/client',
      file: 'device.mjs (Node)',
      text: `import { device, Gatehouse } from '@gatehouse/client'

const auth = device({
  clientId: ${quote(clientId)},
  scope: ${quote(scope)},
  prompt: ({ url, userCode }) => console.log(\`Open \${url} and enter \${userCode}\`),
})
const gate = new Gatehouse(${quote(issuer)}, { auth })
${firstCall(scope)}
gate.close()
`,
      note: LIBRARY_NOTE,
    },
    {
      title: 'openid-client',
      install: 'npm install openid-client',
      file: 'device.mjs (Node)',
      text: `import * as oidc from 'openid-client'

const provider = await oidc.discovery(new URL(${quote(issuer)}), ${quote(clientId)}, undefined, oidc.None()${insecureOption(values)})
const started = await oidc.initiateDeviceAuthorization(provider, { scope: ${quote(scope)} })
console.log(\`Open \${started.verification_uri} and enter \${started.user_code}\`)
const tokens = await oidc.pollDeviceAuthorizationGrant(provider, started)
console.log(tokens.access_token)
`,
    },
    {
      title: 'Python',
      install: 'pip install requests',
      file: 'device.py',
      text: `import time
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
        print(reply["access_token"])
        break
    if reply["error"] not in ("authorization_pending", "slow_down"):
        raise SystemExit(reply["error_description"])
`,
    },
    {
      title: 'curl',
      file: 'In a shell',
      text: `curl ${issuer}/connect/deviceauthorization \\
  --data-urlencode client_id='${clientId}' \\
  --data-urlencode scope='${scope}'

# Open verification_uri, enter user_code, then:
curl ${issuer}/connect/token \\
  --data-urlencode client_id='${clientId}' \\
  --data grant_type=urn:ietf:params:oauth:grant-type:device_code \\
  --data-urlencode device_code="$DEVICE_CODE"
${curlCall(values)}`,
    },
  ]
}

export function serviceSnippets(values: Values): readonly Snippet[] {
  const { issuer, clientId, scope } = values
  return [
    {
      title: '@gatehouse/client',
      file: 'service.mjs (Node)',
      text: `import { clientCredentials, Gatehouse } from '@gatehouse/client'

const auth = clientCredentials({
  clientId: ${quote(clientId)},
  clientSecret: process.env.CLIENT_SECRET,
  scope: ${quote(scope)},
})
const gate = new Gatehouse(${quote(issuer)}, { auth })
${firstCall(scope)}
gate.close()
`,
      note: LIBRARY_NOTE,
    },
    {
      title: 'openid-client',
      install: 'npm install openid-client',
      file: 'service.mjs (Node)',
      text: `import * as oidc from 'openid-client'

const provider = await oidc.discovery(
  new URL(${quote(issuer)}),
  ${quote(clientId)},
  process.env.CLIENT_SECRET${insecureOption(values) === '' ? ',' : ',\n  undefined'}${insecureOption(values)}
)
const tokens = await oidc.clientCredentialsGrant(provider, { scope: ${quote(scope)} })
console.log(tokens.access_token)
`,
    },
    {
      title: 'Python',
      install: 'pip install requests',
      file: 'service.py',
      text: `import os
import requests

gate = "${issuer}"
token = requests.post(
    f"{gate}/connect/token",
    auth=("${clientId}", os.environ["CLIENT_SECRET"]),
    data={"grant_type": "client_credentials", "scope": "${scope}"},
).json()["access_token"]
print(token)
${
  scope.includes('Platform/')
    ? `rows = requests.post(
    f"{gate}/query",
    headers={"Authorization": f"Bearer {token}", "Content-Type": "text/plain"},
    data="SELECT name FROM cataloguetables",
).json()["Rows"]
print(rows)
`
    : ''
}`,
    },
    {
      title: 'curl',
      file: 'In a shell',
      text: `curl ${issuer}/connect/token \\
  --user "${clientId}:$CLIENT_SECRET" \\
  --data grant_type=client_credentials \\
  --data-urlencode scope='${scope}'
${curlCall(values)}`,
    },
  ]
}
